//! What the kernel says about its own types (BTF): where a member of a struct is, what a function takes.
//!
//! A module's types continue those of the kernel itself ("split BTF"): its type ids and string offsets begin
//! where the base ends. The format is described in Documentation/bpf/btf.rst of Linux. Nothing is indexed: a
//! few names are looked up once, and five megabytes of types are not worth keeping.

use std::borrow::Cow;

const MAGIC: u16 = 0xeb9f;
const HEADER_BYTES: usize = 24;
const TYPE_BYTES: usize = 12;
/// Longer chains of typedefs and qualifiers, or arrays of more dimensions, are damage.
const MAX_DEPTH: usize = 32;
/// Unnamed structs and unions of one struct that are looked into.
const MAX_UNNAMED: usize = 256;
const POINTER_BYTES: u32 = 8;

/// Why something is not known of a type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BtfError {
    /// The bytes are not what the format says.
    #[error("the type information is damaged: {0}")]
    Damaged(&'static str),
    /// There is no such struct.
    #[error("there is no struct {0}")]
    NoStruct(String),
    /// The struct has no such member.
    #[error("struct {0} has no member {1}")]
    NoMember(String, String),
    /// The member has another form than it had when this was written.
    #[error("member {1} of struct {0} has another form")]
    OtherForm(String, String),
    /// There is no such function.
    #[error("there is no function {0}")]
    NoFunction(String),
}

/// The types of the kernel or of one module.
#[derive(Debug)]
pub struct Btf<'a> {
    base: Option<&'a Self>,
    types: &'a [u8],
    strings: &'a [u8],
    /// Where each type begins, the first one being number `first_id`.
    starts: Vec<u32>,
    first_id: u32,
    first_string: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Int,
    Pointer,
    Array,
    Composite,
    Enum,
    /// Typedefs, qualifiers and tags: another type in other words.
    Alias,
    Function,
    Prototype,
    Other,
}

#[derive(Clone, Copy, Debug)]
struct Type<'a> {
    kind: Kind,
    name: u32,
    /// A flag that depends on the kind, and the number of entries behind it.
    has_flag: bool,
    entries: u32,
    /// Its size or another type, as the kind says.
    value: u32,
    behind: &'a [u8],
}

#[derive(Clone, Copy, Debug)]
struct Member {
    name: u32,
    type_id: u32,
    bit_offset: u32,
    is_bitfield: bool,
}

impl<'a> Btf<'a> {
    /// Reads the types of the kernel, `/sys/kernel/btf/vmlinux`.
    ///
    /// # Errors
    /// When the bytes are not BTF, or have a kind of type that this does not know.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, BtfError> {
        Self::read(bytes, None)
    }

    /// Reads the types of a module, which continue those of `base`.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_split(bytes: &'a [u8], base: &'a Self) -> Result<Self, BtfError> {
        Self::read(bytes, Some(base))
    }

    fn read(bytes: &'a [u8], base: Option<&'a Self>) -> Result<Self, BtfError> {
        const SHORT: BtfError = BtfError::Damaged("it ends early");
        let word = |at| word(bytes, at).ok_or(SHORT);
        if bytes.len() < HEADER_BYTES || bytes[..2] != MAGIC.to_le_bytes() {
            return Err(BtfError::Damaged("it does not begin as BTF of this byte order does"));
        }
        let header = word(4)? as usize;
        let section = |offset: u32, length: u32| {
            let start = header.checked_add(offset as usize)?;
            bytes.get(start..start.checked_add(length as usize)?)
        };
        let types = section(word(8)?, word(12)?).ok_or(SHORT)?;
        let strings = section(word(16)?, word(20)?).ok_or(SHORT)?;
        let (first_id, first_string) =
            base.map_or((1, 0), |base| (base.end_id(), base.strings.len() as u32));
        let mut btf = Self { base, types, strings, starts: Vec::new(), first_id, first_string };
        let mut start = 0;
        while start < types.len() {
            btf.starts.push(start as u32);
            start += btf.length_at(start)?;
        }
        Ok(btf)
    }

    /// Bytes from the start of `structure` to the member that `path` leads to. Members of unnamed structs and
    /// unions count as members of what holds them, as in C. `bytes` is the size that it must have, if that
    /// matters.
    ///
    /// # Errors
    /// When there is no such struct or member, or when it is of another size or a bit field.
    pub fn member(
        &self,
        structure: &str,
        path: &[&str],
        bytes: Option<u32>,
    ) -> Result<u32, BtfError> {
        let mut id = self
            .find(Kind::Composite, structure)
            .ok_or_else(|| BtfError::NoStruct(structure.to_owned()))?;
        let mut bits = 0_u64;
        for name in path {
            let fail =
                |error: fn(String, String) -> BtfError| error(structure.to_owned(), path.join("."));
            let composite = self.resolve(id).ok_or_else(|| fail(BtfError::OtherForm))?;
            let (member, outer_bits) =
                self.find_member(composite, name).ok_or_else(|| fail(BtfError::NoMember))?;
            bits += outer_bits + u64::from(member.bit_offset);
            if member.is_bitfield || !bits.is_multiple_of(8) {
                return Err(fail(BtfError::OtherForm));
            }
            id = member.type_id;
        }
        if bytes.is_some_and(|bytes| self.size(id, 0) != Some(bytes)) {
            return Err(BtfError::OtherForm(structure.to_owned(), path.join(".")));
        }
        u32::try_from(bits / 8).ok().ok_or(BtfError::Damaged("an offset is too large"))
    }

    /// What a function takes, as C would write it without qualifiers: `ib_qp *`, `int`.
    ///
    /// # Errors
    /// When there is no such function.
    pub fn parameters(&self, function: &str) -> Result<Vec<String>, BtfError> {
        let missing = || BtfError::NoFunction(function.to_owned());
        let id = self.find(Kind::Function, function).ok_or_else(missing)?;
        let prototype = self.resolve(self.at(id).ok_or_else(missing)?.value);
        let prototype = prototype.filter(|it| it.kind == Kind::Prototype).ok_or_else(missing)?;
        let entries = prototype.behind.chunks_exact(8).take(prototype.entries as usize);
        Ok(entries.map(|entry| self.describe(word(entry, 4).unwrap_or(0))).collect())
    }

    /// Whether there is such a function.
    pub fn has_function(&self, function: &str) -> bool {
        self.find(Kind::Function, function).is_some()
    }

    fn end_id(&self) -> u32 {
        self.first_id + self.starts.len() as u32
    }

    /// Bytes of the type that begins at `start`, entries included.
    fn length_at(&self, start: usize) -> Result<usize, BtfError> {
        const SHORT: BtfError = BtfError::Damaged("a type ends early");
        let info = word(self.types, start + 4).ok_or(SHORT)?;
        let entries = (info & 0xffff) as usize;
        let behind = match info >> 24 & 0x1f {
            // Pointers, forward declarations, aliases, functions, floats and tags of types.
            2 | 7..=12 | 16 | 18 => 0,
            // Integers, variables and tags of declarations.
            1 | 14 | 17 => 4,
            3 => 12,
            // Structs, unions, sections and enumerations of 64 bits.
            4 | 5 | 15 | 19 => entries * 12,
            // Enumerations and prototypes.
            6 | 13 => entries * 8,
            _ => return Err(BtfError::Damaged("it has a kind of type that nobody knew")),
        };
        let length = TYPE_BYTES + behind;
        if self.types.len() - start < length { Err(SHORT) } else { Ok(length) }
    }

    fn at(&self, id: u32) -> Option<Type<'a>> {
        let Some(place) = id.checked_sub(self.first_id) else { return self.base?.at(id) };
        let start = *self.starts.get(place as usize)? as usize;
        let info = word(self.types, start + 4)?;
        Some(Type {
            kind: match info >> 24 & 0x1f {
                1 => Kind::Int,
                2 => Kind::Pointer,
                3 => Kind::Array,
                4 | 5 => Kind::Composite,
                6 | 19 => Kind::Enum,
                8..=11 | 18 => Kind::Alias,
                12 => Kind::Function,
                13 => Kind::Prototype,
                _ => Kind::Other,
            },
            name: word(self.types, start)?,
            has_flag: info >> 31 == 1,
            entries: info & 0xffff,
            value: word(self.types, start + 8)?,
            behind: self.types.get(start + TYPE_BYTES..)?,
        })
    }

    fn string(&self, offset: u32) -> Cow<'a, str> {
        let Some(place) = offset.checked_sub(self.first_string) else {
            return self.base.map_or(Cow::Borrowed(""), |base| base.string(offset));
        };
        let text = self.strings.get(place as usize..).unwrap_or_default();
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        String::from_utf8_lossy(&text[..end])
    }

    /// The module's own type comes before one of the kernel with the same name.
    fn find(&self, kind: Kind, name: &str) -> Option<u32> {
        let is_it = |it: Type<'_>| it.kind == kind && self.is_named(it.name, name);
        let own = (self.first_id..self.end_id()).find(|id| self.at(*id).is_some_and(is_it));
        own.or_else(|| self.base?.find(kind, name))
    }

    fn is_named(&self, offset: u32, name: &str) -> bool {
        let Some(place) = offset.checked_sub(self.first_string) else {
            return self.base.is_some_and(|base| base.is_named(offset, name));
        };
        let text = self.strings.get(place as usize..).unwrap_or_default();
        text.starts_with(name.as_bytes()) && text.get(name.len()) == Some(&0)
    }

    /// The type that `id` is another word for.
    fn resolve(&self, id: u32) -> Option<Type<'a>> {
        let mut found = self.at(id)?;
        for _ in 0..MAX_DEPTH {
            if found.kind != Kind::Alias {
                return Some(found);
            }
            found = self.at(found.value)?;
        }
        None
    }

    fn members(composite: Type<'a>) -> impl Iterator<Item = Member> {
        let entries = composite.behind.chunks_exact(12).take(composite.entries as usize);
        entries.filter_map(move |entry| {
            let offset = word(entry, 8)?;
            // With the flag the upper byte is the size of a bit field.
            let (bit_offset, field_bits) =
                if composite.has_flag { (offset & 0xff_ffff, offset >> 24) } else { (offset, 0) };
            Some(Member {
                name: word(entry, 0)?,
                type_id: word(entry, 4)?,
                bit_offset,
                is_bitfield: field_bits != 0,
            })
        })
    }

    /// A member, and the bits before the unnamed struct or union that it is in.
    fn find_member(&self, composite: Type<'a>, name: &str) -> Option<(Member, u64)> {
        let mut places = vec![(composite, 0_u64)];
        let mut next = 0;
        while let Some((composite, bits)) = places.get(next).copied() {
            next += 1;
            for member in Self::members(composite) {
                if self.is_named(member.name, name) {
                    return Some((member, bits));
                }
                let unnamed = self.resolve(member.type_id).filter(|it| it.kind == Kind::Composite);
                if let Some(unnamed) = unnamed
                    && self.string(member.name).is_empty()
                    && places.len() < MAX_UNNAMED
                {
                    places.push((unnamed, bits + u64::from(member.bit_offset)));
                }
            }
        }
        None
    }

    fn size(&self, id: u32, depth: usize) -> Option<u32> {
        let found = self.resolve(id).filter(|_| depth <= MAX_DEPTH)?;
        match found.kind {
            Kind::Int | Kind::Composite | Kind::Enum => Some(found.value),
            Kind::Pointer => Some(POINTER_BYTES),
            Kind::Array => {
                let element = self.size(word(found.behind, 0)?, depth + 1)?;
                element.checked_mul(word(found.behind, 8)?)
            }
            _ => None,
        }
    }

    fn describe(&self, id: u32) -> String {
        match self.resolve(id) {
            None => "void".to_owned(),
            Some(it) if it.kind == Kind::Pointer => {
                let target = self.resolve(it.value).map(|it| self.string(it.name));
                format!("{} *", target.as_deref().unwrap_or("void"))
            }
            Some(it) => self.string(it.name).into_owned(),
        }
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    word.try_into().ok().map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests;
