//! `cargo xtask build-ebpf`: the committed eBPF objects.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use roce_ebpf_object::{Built, Inputs, Object, Repository, Stamp, build, check};

use crate::verify_ebpf;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Write nothing: fail when a committed object is stale
    #[arg(long)]
    check: bool,
    /// With --check: also build from source, and compare the bytes when the tools are the same
    #[arg(long, requires = "check")]
    rebuild: bool,
}

pub(crate) fn run(repository: &Repository, arguments: &Arguments) -> Result<()> {
    Object::ALL.into_iter().try_for_each(|object| refresh(repository, object, arguments))
}

fn refresh(repository: &Repository, object: Object, arguments: &Arguments) -> Result<()> {
    let inputs = Inputs::read(repository, object)?;
    if !arguments.check {
        let built = build(repository, &inputs)?;
        write(repository, object, &built)?;
        return verify_ebpf::report(object, &built.object);
    }
    let stamp = check(repository, &inputs)?;
    println!(
        "the committed eBPF object {} is fresh: sources {:.12}, rustc {}",
        object.file_name(),
        stamp.sources,
        stamp.rustc
    );
    if arguments.rebuild {
        let built = build(repository, &inputs)?;
        compare(&stamp, &built.stamp)?;
        verify_ebpf::report(object, &built.object)?;
    }
    Ok(())
}

fn write(repository: &Repository, object: Object, built: &Built) -> Result<()> {
    let path = repository.prebuilt_object(object);
    let folder = path.parent().context("the object has no folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    write_file(&path, &built.object)?;
    write_file(&repository.prebuilt_stamp(object), built.stamp.to_string().as_bytes())?;
    println!("{}: {} bytes, rustc {}", path.display(), built.object.len(), built.stamp.rustc);
    Ok(())
}

fn write_file(path: &Path, content: &[u8]) -> Result<()> {
    fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

fn compare(committed: &Stamp, built: &Stamp) -> Result<()> {
    if (&committed.rustc, &committed.bpf_linker) != (&built.rustc, &built.bpf_linker) {
        println!(
            "not compared byte for byte: committed by rustc {} and bpf-linker {}, built by rustc {} and bpf-linker {}",
            committed.rustc, committed.bpf_linker, built.rustc, built.bpf_linker
        );
        return Ok(());
    }
    ensure!(
        committed.object == built.object,
        "the committed eBPF object is not what its sources give with the same tools \
         ({:.12} instead of {:.12}); run `cargo xtask build-ebpf`",
        committed.object,
        built.object
    );
    println!("built from source: the same bytes");
    Ok(())
}
