//! What makes the committed object stale, and what does not, on a small checkout.

#![expect(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use std::fs;
use std::path::Path;

use roce_ebpf_object::{Inputs, Object, Repository, Stamp, StampError, check, sha256};
use tempfile::TempDir;

const FILES: [(&str, &str); 9] = [
    (
        "Cargo.toml",
        r#"
        [workspace]
        resolver = "3"
        members = ["common", "roce-ebpf", "tool"]
        [workspace.package]
        edition = "2024"
        [workspace.dependencies]
        aya-ebpf = "=0.2.1"
        roce-common = { path = "common" }
        clap = "4.5"
        [profile.ebpf]
        inherits = "release"
        opt-level = 3
        [profile.dev]
        opt-level = 0
        "#,
    ),
    (
        "Cargo.lock",
        r#"
        version = 4
        [[package]]
        name = "roce-ebpf"
        version = "0.1.0"
        dependencies = ["aya-ebpf", "roce-common"]
        [[package]]
        name = "roce-common"
        version = "0.1.0"
        dependencies = ["crc32fast", "proptest"]
        [[package]]
        name = "tool"
        version = "0.1.0"
        dependencies = ["clap"]
        [[package]]
        name = "aya-ebpf"
        version = "0.2.1"
        source = "registry"
        checksum = "aa"
        dependencies = ["aya-build", "syn"]
        [[package]]
        name = "aya-build"
        version = "0.2.0"
        source = "registry"
        checksum = "bb"
        dependencies = ["serde"]
        [[package]]
        name = "syn"
        version = "2.0.1"
        source = "registry"
        checksum = "cc"
        [[package]]
        name = "serde"
        version = "1.0.1"
        source = "registry"
        checksum = "dd"
        [[package]]
        name = "clap"
        version = "4.5.1"
        source = "registry"
        checksum = "ee"
        [[package]]
        name = "crc32fast"
        version = "1.5.1"
        source = "registry"
        checksum = "ff"
        [[package]]
        name = "proptest"
        version = "1.7.1"
        source = "registry"
        checksum = "99"
        "#,
    ),
    (
        "common/Cargo.toml",
        r#"
        [package]
        name = "roce-common"
        [dependencies]
        crc32fast = { version = "1.5", optional = true }
        [dev-dependencies]
        proptest = "1"
        "#,
    ),
    ("common/src/lib.rs", "mod wire;"),
    ("common/src/wire/bth.rs", "struct Bth;"),
    (
        "roce-ebpf/Cargo.toml",
        r#"
        [package]
        name = "roce-ebpf"
        [dependencies]
        aya-ebpf.workspace = true
        roce-common.workspace = true
        "#,
    ),
    ("roce-ebpf/src/main.rs", "fn main() {}"),
    ("tool/Cargo.toml", "[package]\nname = \"tool\"\n[dependencies]\nclap.workspace = true\n"),
    ("tool/src/main.rs", "fn main() {}"),
];

struct Checkout {
    folder: TempDir,
    repository: Repository,
}

impl Checkout {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in FILES {
            write(&folder.path().join(path), text.as_bytes());
        }
        let repository = Repository::at(folder.path()).unwrap();
        Self { folder, repository }
    }

    fn hash(&self) -> String {
        Inputs::read(&self.repository, Object::Datapath).unwrap().hash().to_owned()
    }

    /// The hash after `from` became `to` in `path`.
    fn changed(path: &str, from: &str, to: &str) -> String {
        let checkout = Self::new();
        let file = checkout.folder.path().join(path);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{path} has no {from}");
        fs::write(&file, text.replace(from, to)).unwrap();
        checkout.hash()
    }

    fn commit_object(&self, object: &[u8]) {
        let stamp = Stamp {
            sources: self.hash(),
            object: sha256(object),
            rustc: "1.96.0".to_owned(),
            bpf_linker: "0.10.3".to_owned(),
        };
        write(&self.repository.prebuilt_object(Object::Datapath), object);
        write(&self.repository.prebuilt_stamp(Object::Datapath), stamp.to_string().as_bytes());
    }

    fn check(&self) -> Result<Stamp, StampError> {
        check(&self.repository, &Inputs::read(&self.repository, Object::Datapath).unwrap())
    }
}

fn write(path: &Path, content: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

#[test]
fn what_reaches_the_object_changes_the_hash() {
    let before = Checkout::new().hash();
    for (path, from, to) in [
        ("common/src/wire/bth.rs", "Bth", "Reth"),
        ("roce-ebpf/src/main.rs", "{}", "{ }"),
        ("roce-ebpf/Cargo.toml", "[dependencies]", "[dependencies] # x"),
        ("Cargo.toml", "opt-level = 3", "opt-level = 2"),
        ("Cargo.toml", "2024", "2021"),
        ("Cargo.toml", "=0.2.1", "=0.2.2"),
        ("Cargo.lock", "0.2.1", "0.2.2"),
        ("Cargo.lock", "2.0.1", "2.0.2"),
        ("Cargo.lock", "\"cc\"", "\"c0\""),
    ] {
        assert_ne!(Checkout::changed(path, from, to), before, "{from} in {path}");
    }
}

#[test]
fn user_space_and_its_crates_do_not_change_the_hash() {
    let before = Checkout::new().hash();
    for (path, from, to) in [
        ("Cargo.toml", "opt-level = 0", "opt-level = 1"),
        ("Cargo.toml", "4.5", "4.6"),
        ("Cargo.lock", "4.5.1", "4.5.2"),
        // An optional crate, a crate for tests, and one that only helps to build.
        ("Cargo.lock", "1.5.1", "1.5.2"),
        ("Cargo.lock", "1.7.1", "1.7.2"),
        ("Cargo.lock", "1.0.1", "1.0.2"),
        ("tool/src/main.rs", "{}", "{ }"),
    ] {
        assert_eq!(Checkout::changed(path, from, to), before, "{from} in {path}");
    }
}

#[test]
fn a_new_or_moved_source_file_changes_the_hash() {
    let checkout = Checkout::new();
    let before = checkout.hash();
    let wire = checkout.folder.path().join("common/src/wire");
    fs::rename(wire.join("bth.rs"), wire.join("reth.rs")).unwrap();
    let moved = checkout.hash();
    assert_ne!(moved, before);
    fs::write(wire.join("empty.rs"), "").unwrap();
    assert_ne!(checkout.hash(), moved);
}

#[test]
fn the_committed_object_must_be_the_stamped_one_of_these_sources() {
    let checkout = Checkout::new();
    assert!(matches!(checkout.check(), Err(StampError::Unreadable(..))));
    checkout.commit_object(b"object");
    assert_eq!(checkout.check().unwrap().object, sha256(b"object"));

    fs::write(checkout.repository.prebuilt_object(Object::Datapath), "other").unwrap();
    assert!(matches!(checkout.check(), Err(StampError::Altered { .. })));

    checkout.commit_object(b"object");
    write(&checkout.folder.path().join("common/src/lib.rs"), b"mod flow;");
    let error = checkout.check().unwrap_err();
    assert!(matches!(error, StampError::Stale { .. }));
    assert!(error.to_string().ends_with("run `cargo xtask build-ebpf`"), "{error}");

    fs::write(checkout.repository.prebuilt_stamp(Object::Datapath), "sources: 1").unwrap();
    assert!(matches!(checkout.check(), Err(StampError::Malformed(_))));
}

#[test]
fn a_folder_without_the_sources_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let error = Repository::at(folder.path()).unwrap_err();
    assert!(error.to_string().contains("is not a checkout"), "{error}");
}
