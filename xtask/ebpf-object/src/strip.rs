//! Removes what the kernel and the loader do not read from a BPF object.

use anyhow::{Context, Result};
use object::build::elf::{Builder, SectionData};
use object::elf::{SHT_STRTAB, STB_GLOBAL, STT_FUNC};

/// Offsets in `.BTF` and `.BTF.ext` are stored in place and fixed by the loader from the symbol
/// table; the relocations are only for a linker.
const LINKER_ONLY: [&[u8]; 2] = [b".rel.BTF", b".rel.BTF.ext"];

/// The object without DWARF: programs, maps, their relocations, symbols, and BTF stay.
///
/// # Errors
/// When `object` is not an ELF file.
pub fn strip(object: &[u8]) -> Result<Vec<u8>> {
    let mut elf = Builder::read(object).context("the eBPF object is not an ELF file")?;
    for section in &mut elf.sections {
        let name = section.name.as_slice();
        section.delete = name.starts_with(b".debug_")
            || name.starts_with(b".rel.debug_")
            || LINKER_ONLY.contains(&name);
    }
    elf.delete_orphans();
    if !elf.sections.iter().any(|section| matches!(section.data, SectionData::SectionString)) {
        // LLVM keeps the names of sections and symbols in one table; the writer wants two.
        let names = elf.sections.add();
        names.name = b".shstrtab"[..].into();
        names.sh_type = SHT_STRTAB;
        names.sh_addralign = 1;
        names.data = SectionData::SectionString;
    }
    let mut stripped = Vec::new();
    elf.write(&mut stripped).context("cannot write the stripped eBPF object")?;
    Ok(stripped)
}

/// A function of the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionSize {
    /// Symbol name.
    pub name: String,
    /// ELF section; programs have one that names their type, shared functions are in `.text`.
    pub section: String,
    /// Eight-byte instructions.
    pub instructions: u64,
}

/// The global functions of an object, in the order of its symbol table.
///
/// # Errors
/// When `object` is not an ELF file.
pub fn functions(object: &[u8]) -> Result<Vec<FunctionSize>> {
    let elf = Builder::read(object).context("the eBPF object is not an ELF file")?;
    let mut functions = Vec::new();
    for symbol in &elf.symbols {
        let Some(section) = symbol.section.map(|id| elf.sections.get(id)) else { continue };
        let is_code = matches!(section.data, SectionData::Data(_));
        if symbol.st_type() == STT_FUNC && symbol.st_bind() == STB_GLOBAL && is_code {
            functions.push(FunctionSize {
                name: symbol.name.to_string(),
                section: section.name.to_string(),
                instructions: symbol.st_size / 8,
            });
        }
    }
    Ok(functions)
}
