use std::io::Read;
use std::path::PathBuf;

use flate2::read::GzDecoder;
use tempfile::TempDir;

use super::*;

/// A `/sys` with kprobes and the types of a real kernel, without those modules.
fn sysfs(kernel: &str, without: &[&str]) -> TempDir {
    let recorded = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/btf").join(kernel);
    let sysfs = tempfile::tempdir().unwrap();
    let folders = ["bus/event_source/devices/kprobe", "kernel/btf", "module"];
    for folder in folders {
        fs::create_dir_all(sysfs.path().join(folder)).unwrap();
    }
    for name in ["vmlinux", "ib_core", "ib_uverbs", "rdma_rxe"] {
        if without.contains(&name) {
            continue;
        }
        let packed = fs::read(recorded.join(format!("{name}.gz"))).unwrap();
        let mut types = Vec::new();
        GzDecoder::new(&*packed).read_to_end(&mut types).unwrap();
        fs::write(sysfs.path().join("kernel/btf").join(name), types).unwrap();
        if name != "vmlinux" {
            load(&sysfs, name);
        }
    }
    sysfs
}

fn load(sysfs: &TempDir, module: &str) {
    fs::create_dir_all(sysfs.path().join("module").join(module)).unwrap();
}

type Points = Vec<Result<Found, Absence>>;

fn find(sysfs: &TempDir) -> Result<(KernelLayout, Points), Absence> {
    let modules = Modules::read(sysfs.path());
    Types::read(sysfs.path(), modules)?.find_all(&Point::ALL)
}

fn names(points: &Points) -> Vec<Result<&str, &Absence>> {
    points.iter().map(|found| found.as_ref().map(|found| found.function.name)).collect()
}

/// As `bpftool btf dump` shows the kernel's structs.
const LINUX_6_12: KernelLayout = KernelLayout {
    arguments: ARGUMENTS,
    task_flags: 352 / 8,
    device_name: 8512 / 8,
    qp_device: 0,
    qp_real: 1280 / 8,
    qp_num: 1728 / 8,
    attr_state: 0,
    attr_dest_qpn: 224 / 8,
    attr_timeout: 1536 / 8,
    attr_retry_cnt: 1544 / 8,
    attr_rnr_retry: 1552 / 8,
    event_type: 128 / 8,
    event_qp: 64 / 8,
    rxe_qp: 0,
};

#[test]
fn linux_6_12_has_everything() {
    let (layout, points) = find(&sysfs("linux-6.12", &[])).unwrap();
    assert_eq!(layout, LINUX_6_12);
    assert_eq!(
        names(&points),
        [
            Ok("ib_modify_qp_with_udata"),
            Ok("ib_modify_qp"),
            Ok("ib_destroy_qp_user"),
            Ok("__ib_qp_event_handler"),
            Ok("rxe_qp_error")
        ]
    );
    let rxe: Vec<_> = points.iter().map(|found| found.as_ref().unwrap().rxe_qp).collect();
    assert_eq!(rxe, [None, None, None, None, Some(0)]);
}

#[test]
fn linux_6_1_tells_events_of_programs_only() {
    let (layout, points) = find(&sysfs("linux-6.1", &[])).unwrap();
    let linux_6_1 =
        KernelLayout { device_name: 8384 / 8, qp_real: 1024 / 8, qp_num: 1408 / 8, ..LINUX_6_12 };
    assert_eq!(layout, linux_6_1);
    assert_eq!(names(&points)[3], Ok("ib_uverbs_qp_event_handler"));
}

#[test]
fn a_module_that_is_not_there_costs_only_its_own_point() {
    let sysfs = sysfs("linux-6.1", &["ib_uverbs", "rdma_rxe"]);
    let (_, points) = find(&sysfs).unwrap();
    let names = names(&points);
    assert!(names[..3].iter().all(Result::is_ok), "{names:?}");
    assert_eq!(names[3], Err(&Absence::NotLoaded("ib_uverbs")));
    assert_eq!(names[4], Err(&Absence::NotLoaded("rdma_rxe")));

    // Loaded, but built apart from the kernel.
    load(&sysfs, "rdma_rxe");
    let (_, points) = find(&sysfs).unwrap();
    assert_eq!(points[4], Err(Absence::NoModuleBtf("rdma_rxe")));
}

#[test]
fn a_kernel_without_rdma_probes_or_types_says_which() {
    let without_rdma = sysfs("linux-6.12", &["ib_core", "ib_uverbs", "rdma_rxe"]);
    assert_eq!(find(&without_rdma), Err(Absence::NotLoaded("ib_core")));

    let without_types = sysfs("linux-6.12", &["vmlinux"]);
    assert!(matches!(find(&without_types), Err(Absence::NoBtf(_))));

    let without_probes = sysfs("linux-6.12", &[]);
    fs::remove_dir(without_probes.path().join("bus/event_source/devices/kprobe")).unwrap();
    assert_eq!(find(&without_probes), Err(Absence::NoKprobes));

    let damaged = sysfs("linux-6.12", &[]);
    fs::write(damaged.path().join("kernel/btf/vmlinux"), "no types").unwrap();
    assert!(matches!(find(&damaged), Err(Absence::Changed(_))));
}

/// The types of another kernel: numbers do not fit, and nothing may be read at wrong places.
#[test]
fn a_function_that_takes_other_things_is_left_alone() {
    let sysfs = sysfs("linux-6.12", &[]);
    let other = self::sysfs("linux-6.1", &[]);
    let file = Path::new("kernel/btf/ib_core");
    fs::copy(other.path().join(file), sysfs.path().join(file)).unwrap();
    let (_, points) = find(&sysfs).unwrap();
    assert!(
        points[..3].iter().all(|found| matches!(found, Err(Absence::Changed(_)))),
        "{points:?}"
    );
}

#[test]
fn a_module_that_was_loaded_again_is_another_loading() {
    let sysfs = sysfs("linux-6.12", &[]);
    let before = Modules::read(sysfs.path());
    assert_eq!(Modules::read(sysfs.path()), before);
    assert!(before.loading("ib_core").is_some());
    fs::remove_dir(sysfs.path().join("module/rdma_rxe")).unwrap();
    let unloaded = Modules::read(sysfs.path());
    assert_ne!(unloaded, before);
    assert_eq!(unloaded.loading("rdma_rxe"), None);
}
