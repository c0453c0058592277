//! Containers, from the names of control groups.

/// Characters of a container's number, in hexadecimal.
const CONTAINER_ID: usize = 64;

/// The container and the Kubernetes pod that a process runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Number of the container: 64 hexadecimal digits. `None` for a process of the pod itself.
    pub container_id: Option<String>,
    /// Number of the pod: a UUID, or for a static pod 32 hexadecimal digits. `None` without Kubernetes.
    pub pod_uid: Option<String>,
}

impl Container {
    /// Reads a `/proc/PID/cgroup`, of version 1 (`4:memory:/PATH`), 2 (`0::/PATH`) or both. `None` for a
    /// process of no container.
    ///
    /// The names are those of containerd, CRI-O, Docker and Podman, with systemd's slices and scopes
    /// (`kubepods-burstable-podUID.slice/cri-containerd-ID.scope`) and without them
    /// (`kubepods/burstable/podUID/ID`). Of containers in containers it is the innermost.
    pub fn of_cgroup(text: &str) -> Option<Self> {
        let paths = text.lines().filter_map(|line| line.splitn(3, ':').nth(2));
        let found = paths.map(|path| Self {
            container_id: path.rsplit('/').find_map(container_id).map(str::to_owned),
            pod_uid: path.rsplit('/').find_map(pod_uid),
        });
        // Of several hierarchies some may be at their root.
        found
            .filter(|found| found.container_id.is_some() || found.pod_uid.is_some())
            .max_by_key(|found| (found.container_id.is_some(), found.pod_uid.is_some()))
    }
}

/// `ID`, `RUNTIME-ID.scope`, or `SLICE:RUNTIME:ID`.
fn container_id(segment: &str) -> Option<&str> {
    let name = segment.strip_suffix(".scope").unwrap_or(segment);
    let name = name.rsplit(':').next()?;
    let (runtime, id) = name.rsplit_once('-').unwrap_or(("", name));
    let is_id = id.len() == CONTAINER_ID && is_hexadecimal(id);
    // The monitor of a container is not in it.
    (is_id && !runtime.ends_with("conmon")).then_some(id)
}

/// `podUID`, or `SLICE-podUID.slice` with `_` for `-`; perhaps with `:RUNTIME:ID` behind it.
fn pod_uid(segment: &str) -> Option<String> {
    let name = segment.split(':').next()?;
    let uid = match name.strip_suffix(".slice") {
        Some(slice) => slice.rsplit_once("-pod")?.1,
        None => name.strip_prefix("pod")?,
    };
    let uid = uid.replace('_', "-");
    let groups: Vec<_> = uid.split('-').map(str::len).collect();
    let is_uid = groups == [8, 4, 4, 4, 12] || groups == [32];
    (is_uid && uid.split('-').all(is_hexadecimal)).then_some(uid)
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "3f1c2b7d9e8a4c5f60718293a4b5c6d7e8f90123456789abcdef0123456789ab";
    const OTHER: &str = "aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbccccccccccccccccdddddddddddddddd";
    const UID: &str = "0b5c6d7e-1f2a-4b3c-8d4e-5f6a7b8c9d0e";

    fn of(text: &str) -> Option<(Option<String>, Option<String>)> {
        let text = text.replace("<ID>", ID).replace("<OTHER>", OTHER).replace("<UID>", UID);
        let text = text.replace("<U_ID>", &UID.replace('-', "_"));
        Container::of_cgroup(&text).map(|found| (found.container_id, found.pod_uid))
    }

    #[test]
    fn every_form_of_a_pod() {
        let expected = Some((Some(ID.to_owned()), Some(UID.to_owned())));
        for text in [
            // containerd, cgroup v2 and systemd.
            "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<U_ID>.slice/cri-containerd-<ID>.scope\n",
            // Guaranteed pods have no slice of their class.
            "0::/kubepods.slice/kubepods-pod<U_ID>.slice/cri-containerd-<ID>.scope\n",
            // Seen from another control group namespace.
            "0::/../../kubepods-besteffort.slice/kubepods-besteffort-pod<U_ID>.slice/cri-containerd-<ID>.scope",
            // CRI-O, and a process that made groups below its own.
            "0::/kubepods.slice/kubepods-pod<U_ID>.slice/crio-<ID>.scope/container\n",
            // Docker as the runtime of Kubernetes.
            "0::/kubepods.slice/kubepods-pod<U_ID>.slice/docker-<ID>.scope\n",
            // cgroup v1 without systemd's names.
            "11:memory:/kubepods/burstable/pod<UID>/<ID>\n1:name=systemd:/kubepods/burstable/pod<UID>/<ID>\n",
            // cgroup v1 and v2 together: only one of them tells.
            "4:rdma:/\n3:cpu,cpuacct:/kubepods/pod<UID>/<ID>\n0::/\n",
            // containerd with a runtime that takes systemd's names as they are.
            "0::/system.slice/containerd.service/kubepods-burstable-pod<U_ID>.slice:cri-containerd:<ID>\n",
            // kind: nodes that are containers themselves.
            "0::/docker/<OTHER>/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod<U_ID>.slice/cri-containerd-<ID>.scope\n",
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
    }

    #[test]
    fn containers_without_kubernetes() {
        let expected = Some((Some(ID.to_owned()), None));
        for text in [
            "0::/system.slice/docker-<ID>.scope\n",
            "5:devices:/docker/<ID>\n",
            "0::/machine.slice/libpod-<ID>.scope/container\n",
            "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-<ID>.scope\n",
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
    }

    #[test]
    fn a_static_pod_and_a_monitor_of_a_pod() {
        let text =
            "0::/kubepods.slice/kubepods-pod0123456789abcdef0123456789abcdef.slice/crio-<ID>.scope";
        let uid = Some("0123456789abcdef0123456789abcdef".to_owned());
        assert_eq!(of(text), Some((Some(ID.to_owned()), uid)));
        let text = "0::/kubepods.slice/kubepods-pod<U_ID>.slice/crio-conmon-<ID>.scope";
        assert_eq!(of(text), Some((None, Some(UID.to_owned()))));
    }

    #[test]
    fn processes_of_no_container() {
        for text in [
            "",
            "0::/\n",
            "0::/init.scope\n",
            "0::/system.slice/sshd.service\n",
            "0::/system.slice/slurmstepd.scope/job_117/step_0/user/task_0\n",
            "0::/user.slice/user-1000.slice/session-2.scope\n",
            "0::/kubepods.slice/kubepods-pod123.slice/x.scope\n",
            "no line of a cgroup file",
            "0:::::/:/-.scope",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
