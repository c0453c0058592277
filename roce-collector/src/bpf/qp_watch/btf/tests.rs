use proptest::prelude::*;

use super::*;

const INT: u32 = 1;
const PTR: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const TYPEDEF: u32 = 8;
const CONST: u32 = 10;
const FUNC: u32 = 12;
const PROTO: u32 = 13;

/// Writes BTF, type by type, as pahole would.
struct Writer {
    types: Vec<u8>,
    strings: Vec<u8>,
    next_id: u32,
    first_string: u32,
}

impl Writer {
    fn new() -> Self {
        Self { types: Vec::new(), strings: vec![0], next_id: 1, first_string: 0 }
    }

    /// Of a module, behind what `base` has.
    fn behind(base: &Self) -> Self {
        let first_string = base.strings.len() as u32;
        Self { types: Vec::new(), strings: vec![0], next_id: base.next_id, first_string }
    }

    fn string(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let offset = self.first_string + self.strings.len() as u32;
        self.strings.extend_from_slice(text.as_bytes());
        self.strings.push(0);
        offset
    }

    fn add(&mut self, kind: u32, name: &str, info: u32, value: u32, behind: &[u32]) -> u32 {
        let name = self.string(name);
        for word in [name, kind << 24 | info, value].iter().chain(behind) {
            self.types.extend_from_slice(&word.to_le_bytes());
        }
        self.next_id += 1;
        self.next_id - 1
    }

    fn int(&mut self, name: &str, bytes: u32) -> u32 {
        self.add(INT, name, 0, bytes, &[bytes * 8])
    }

    /// Members by name, type and offset in bits.
    fn composite(
        &mut self,
        kind: u32,
        name: &str,
        bytes: u32,
        members: &[(&str, u32, u32)],
    ) -> u32 {
        let words: Vec<_> =
            members.iter().flat_map(|(name, id, bits)| [self.string(name), *id, *bits]).collect();
        self.add(kind, name, members.len() as u32, bytes, &words)
    }

    fn function(&mut self, name: &str, parameters: &[u32]) {
        let words: Vec<_> = parameters.iter().flat_map(|id| [0, *id]).collect();
        let prototype = self.add(PROTO, "", parameters.len() as u32, 0, &words);
        self.add(FUNC, name, 0, prototype, &[]);
    }

    fn bytes(&self) -> Vec<u8> {
        let types = self.types.len() as u32;
        let words = [0x0001_eb9f, 24, 0, types, types, self.strings.len() as u32];
        let header = words.iter().flat_map(|word| word.to_le_bytes());
        header.chain(self.types.iter().copied()).chain(self.strings.iter().copied()).collect()
    }
}

/// `struct outer { u32 first; const count_t count; struct { u8 pad; union { u64 *deep; u32 flat; }; }; u32 bits: 3; u8 name[16]; }`
fn kernel() -> Writer {
    let mut btf = Writer::new();
    let byte = btf.int("u8", 1);
    let word = btf.int("u32", 4);
    let pointer = btf.add(PTR, "", 0, byte, &[]);
    let count = btf.add(TYPEDEF, "count_t", 0, word, &[]);
    let count = btf.add(CONST, "", 0, count, &[]);
    let name = btf.add(ARRAY, "", 0, 0, &[byte, word, 16]);
    let choice = btf.composite(UNION, "", 8, &[("deep", pointer, 0), ("flat", word, 0)]);
    let inner = btf.composite(STRUCT, "", 16, &[("pad", byte, 0), ("", choice, 64)]);
    let members = [
        ("first", word, 0),
        ("count", count, 32),
        ("", inner, 64),
        ("bits", word, 3 << 24 | 0xc0),
        ("name", name, 200),
    ];
    let words: Vec<_> =
        members.iter().flat_map(|(name, id, bits)| [btf.string(name), *id, *bits]).collect();
    // The flag says that the upper byte of an offset is the size of a bit field.
    let outer = btf.add(STRUCT, "outer", 1 << 31 | members.len() as u32, 48, &words);
    let outer_pointer = btf.add(PTR, "", 0, outer, &[]);
    btf.function("work", &[outer_pointer, count, 0]);
    btf
}

#[test]
fn members_are_where_the_compiler_put_them() {
    let bytes = kernel().bytes();
    let btf = Btf::parse(&bytes).unwrap();
    for (path, size, offset) in [
        (&["first"][..], Some(4), 0),
        (&["count"], Some(4), 4),
        (&["pad"], Some(1), 8),
        (&["deep"], Some(8), 16),
        (&["flat"], Some(4), 16),
        (&["name"], Some(16), 25),
        (&["name"], None, 25),
    ] {
        assert_eq!(btf.member("outer", path, size), Ok(offset), "{path:?}");
    }
}

#[test]
fn what_is_not_there_or_is_another_thing_is_refused_by_name() {
    let bytes = kernel().bytes();
    let btf = Btf::parse(&bytes).unwrap();
    let names = |path: &str| ("outer".to_owned(), path.to_owned());
    let missing = |path: &str| Err(BtfError::NoMember(names(path).0, names(path).1));
    let other = |path: &str| Err(BtfError::OtherForm(names(path).0, names(path).1));
    assert_eq!(btf.member("inner", &["first"], None), Err(BtfError::NoStruct("inner".to_owned())));
    assert_eq!(btf.member("outer", &["last"], None), missing("last"));
    assert_eq!(btf.member("outer", &["first", "deep"], None), missing("first.deep"));
    assert_eq!(btf.member("outer", &["bits"], None), other("bits"));
    assert_eq!(btf.member("outer", &["first"], Some(8)), other("first"));
    assert_eq!(btf.parameters("outer"), Err(BtfError::NoFunction("outer".to_owned())));
}

#[test]
fn a_function_says_what_it_takes() {
    let bytes = kernel().bytes();
    let btf = Btf::parse(&bytes).unwrap();
    assert_eq!(btf.parameters("work").unwrap(), ["outer *", "u32", "void"]);
    assert!(btf.has_function("work") && !btf.has_function("wor") && !btf.has_function("works"));
}

#[test]
fn a_module_goes_on_where_the_kernel_ends() {
    let kernel = kernel();
    let mut module = Writer::behind(&kernel);
    // Of the kernel: 2 is `u32`. Its own struct of the same name comes first.
    let outer = module.composite(STRUCT, "outer", 8, &[("mine", 2, 32)]);
    let holder = module.composite(STRUCT, "holder", 16, &[("outer", outer, 64)]);
    let pointer = module.add(PTR, "", 0, holder, &[]);
    module.function("use", &[pointer, 2]);
    let (kernel, module) = (kernel.bytes(), module.bytes());
    let base = Btf::parse(&kernel).unwrap();
    let btf = Btf::parse_split(&module, &base).unwrap();
    assert_eq!(btf.member("outer", &["mine"], Some(4)), Ok(4));
    assert_eq!(btf.member("holder", &["outer", "mine"], Some(4)), Ok(12));
    assert_eq!(btf.parameters("use").unwrap(), ["holder *", "u32"]);
    assert_eq!(btf.parameters("work").unwrap(), ["outer *", "u32", "void"]);
    assert_eq!(base.member("outer", &["first"], Some(4)), Ok(0));
    assert!(base.member("holder", &["outer"], None).is_err());
}

#[test]
fn types_that_turn_in_circles_end() {
    let mut btf = Writer::new();
    let circle = btf.add(TYPEDEF, "circle", 0, 1, &[]);
    // Number 2 holds itself twice, without a name.
    let knot = btf.composite(STRUCT, "knot", 8, &[("", 2, 0), ("", 2, 32), ("circle", circle, 0)]);
    btf.add(ARRAY, "", 0, 0, &[4, 4, 2]);
    btf.composite(STRUCT, "held", 8, &[("endless", 3, 0), ("knot", knot, 0)]);
    let bytes = btf.bytes();
    let btf = Btf::parse(&bytes).unwrap();
    assert!(matches!(btf.member("knot", &["absent"], None), Err(BtfError::NoMember(..))));
    assert!(matches!(btf.member("knot", &["circle"], Some(4)), Err(BtfError::OtherForm(..))));
    assert!(btf.member("held", &["endless"], Some(4)).is_err());
}

#[test]
fn a_kind_that_nobody_knew_and_a_wrong_start_are_damage() {
    let mut btf = kernel();
    btf.add(31, "new", 0, 0, &[]);
    assert!(matches!(Btf::parse(&btf.bytes()), Err(BtfError::Damaged(_))));
    let mut bytes = kernel().bytes();
    bytes[0] = 0xeb;
    assert!(matches!(Btf::parse(&bytes), Err(BtfError::Damaged(_))));
    assert!(matches!(Btf::parse(&[]), Err(BtfError::Damaged(_))));
}

proptest! {
    #[test]
    fn damage_is_an_error_or_an_answer(
        cut in 0_usize..400,
        flips in proptest::collection::vec((0_usize..400, any::<u8>()), 0..6),
    ) {
        let mut bytes = kernel().bytes();
        for (place, value) in flips {
            let place = place % bytes.len();
            bytes[place] = value;
        }
        bytes.truncate(bytes.len().saturating_sub(cut % 64));
        if let Ok(btf) = Btf::parse(&bytes) {
            let _ = btf.member("outer", &["deep"], Some(8));
            let _ = btf.member("outer", &["name"], Some(16));
            let _ = btf.parameters("work");
        }
    }
}
