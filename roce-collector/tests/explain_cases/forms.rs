//! Forms of lines beyond those of the file.

use roce_collector::explain::{Cause, Event, Evidence, Producer, Severity, WcStatus};

use super::{decode, decode_one};

#[test]
fn nccl_of_every_version() {
    const PEER: &str = "from peer 10.0.0.12<52184>";
    const GIDS: &str = "localGid ::ffff:10.0.0.11 remoteGids::ffff:10.0.0.12";
    for (line, format) in [
        (
            "NET/IB : Got completion with error 12, opcode 1, len 32600, vendor err 129".to_owned(),
            "<=2.9",
        ),
        (
            format!(
                "NET/IB : Got completion {PEER} with error 12, opcode 1, len 0, vendor err 129"
            ),
            "2.10-2.17",
        ),
        (
            format!(
                "NET/IB : Got completion {PEER} with error 12, opcode 1, len 0, vendor err 129 (Send) localGid \
                 ::ffff:10.0.0.11 remoteGid ::ffff:10.0.0.12"
            ),
            "2.18-2.19",
        ),
        (
            format!(
                "NET/IB : Got completion {PEER} with status=12 opcode=1 len=0 vendor err 129 (Send) {GIDS}"
            ),
            "2.20-2.21",
        ),
        (
            format!(
                "NET/IB: Got completion {PEER} with status=12 opcode=1 len=0 vendor err 129 (Send) {GIDS} hca mlx5_3"
            ),
            "2.22-2.28",
        ),
        (
            format!(
                "NET/IB: Got completion {PEER} with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_RDMA_WRITE(1) \
                 reqSize=7 vendor_err=129 req_type=Send {GIDS} hca mlx5_3"
            ),
            "2.28.7-2.28.9",
        ),
        (
            format!(
                "NET/IB: Got completion {PEER} with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_RDMA_WRITE(1) \
                 vendor_err=129 {GIDS} hca mlx5_3"
            ),
            "2.29+",
        ),
        (
            format!(
                "NET/IB/GIN: Got completion {PEER} with status=12 opcode=1 len=0 vendor err 129 (Send) {GIDS} hca mlx5_3"
            ),
            "GIN",
        ),
        (
            format!(
                "NET/IBP:Got completion {PEER} with status=12 opcode=32698 len=32696 vendor err 129 (Send)"
            ),
            "nccl-rdma-sharp-plugins",
        ),
    ] {
        let record =
            decode_one(&format!("host-a:4242:4300 [0] transport/net_ib.cc:1 NCCL WARN {line}"));
        assert_eq!(record.producer_format, Some(format), "{line}");
        assert_eq!(
            (record.status, record.vendor_err),
            (Some(WcStatus::RETRY_EXC), Some(129)),
            "{line}"
        );
        assert_eq!((record.host.as_deref(), record.pid), (Some("host-a"), Some(4242)));
        assert_eq!(record.peer.port.is_some(), line.contains("from peer"), "{line}");
        assert_eq!(record.peer.gid.is_some(), line.contains("remoteGid"), "{line}");
        assert_eq!(record.device.is_some(), line.contains(" hca "), "{line}");
        assert_eq!(record.request.is_some(), line.contains("Send"), "{line}");
        assert!(record.opcode_raw.is_some(), "{line}");
    }
}

#[test]
fn nccl_that_goes_on_after_an_error() {
    let record = decode_one(
        "h:1:2 [0] NCCL INFO NET/IB: ncclIbResiliencyHandleCompletionError: Got completion with error (devIndex=0, \
         wc->status=(IBV_WC_RETRY_EXC_ERR)12, wc->opcode=(IBV_WC_SEND)0, wc->wr_id=66, wc->qp_num=5121, \
         wc->byte_len=0)",
    );
    assert_eq!((record.status, record.local.qp), (Some(WcStatus::RETRY_EXC), Some(5121)));
    assert_eq!((record.wr_id, record.opcode_raw), (Some(66), Some(0)));
}

#[test]
fn decimal_and_hexadecimal_by_producer() {
    let nccl = decode_one(
        "h:1:2 [0] NCCL WARN NET/IB : Got completion with error 4, opcode 0, len 0, vendor err 81",
    );
    let code = nccl.vendor_code().unwrap();
    assert_eq!((code.value, code.evidence), (0x51, Evidence::Observed));
    assert_eq!(nccl.cause(), Some(Cause::ProtectionError), "never the network");
    let perftest = decode_one(" Failed status 4: wr_id 0 syndrom 0x51");
    assert_eq!((perftest.vendor_err, perftest.cause()), (Some(0x51), Some(Cause::ProtectionError)));
}

#[test]
fn codes_that_nobody_explained_stay_unknown() {
    let record = decode_one(
        "h:1:2 [0] NCCL WARN NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 130",
    );
    let code = record.vendor_code().unwrap();
    assert_eq!((code.meaning, code.evidence), (None, Evidence::Unknown));
    let other_nic = "h:1:2 [0] NCCL WARN NET/IB: Got completion from peer 10.0.0.1<5> with status=12 opcode=0 len=0 \
                     vendor err 129 (Send) localGid ::1 remoteGids::2 hca irdma0";
    assert_eq!(decode_one(other_nic).vendor_code().unwrap().evidence, Evidence::Unknown);
}

#[test]
fn broadcom_codes() {
    let line = "h:1:2 [0] NCCL WARN NET/IB: Got completion from peer 10.0.0.1<5> with status=12 opcode=0 len=0 vendor \
                err 10 (Send) localGid ::1 remoteGids::2 hca bnxt_re0";
    assert_eq!(decode_one(line).vendor_code().unwrap().evidence, Evidence::Official);
    let kernel =
        "bnxt_en 0000:41:00.0: QPLIB: FP: CQ Processed Req wr_id[3] = 0x10 with status 0xa";
    let record = decode_one(kernel);
    assert_eq!((record.producer, record.status), (Producer::Bnxt, Some(WcStatus::RETRY_EXC)));
    let notice = decode_one("bnxt_en 0000:41:00.0: QPLIB: qpid 0x12, req_err=0x2, resp_err=0x0");
    assert_eq!((notice.local.qp, notice.vendor_err), (Some(0x12), Some(2)));
    assert_eq!(notice.vendor_code().unwrap().evidence, Evidence::Unknown);
}

#[test]
fn ucx_of_every_form() {
    let mixed = "[h:1:0:1] rc_verbs_iface.c:1 UCX  ERROR send completion with error: local protection error [qpn \
                 0x1a2 wrid 0x149vendor_err 0x51]\n\
                 [h:1:0:1] rc_verbs_iface.c:1 UCX  ERROR [rqpn 0x3b dlid=1 sl=0 port=1 src_path_bits=0 dgid=fd00::7 \
                 flow_label=0xffffffff sgid_index=3 traffic_class=104]";
    let record = decode_one(mixed);
    assert_eq!(
        (record.vendor_err, record.local.qp, record.peer.qp),
        (Some(0x51), Some(0x1a2), Some(0x3b))
    );
    assert_eq!((record.local.gid_index, record.traffic_class), (Some(3), Some(104)));
    assert_eq!(record.findings()[0].id, "not_ecn_capable");
    let old = decode_one(
        "UCX ERROR Error on QP 0x10 wqe[003]: Remote access error (synd 0x13 vend 0x88) opcode RDMA_READ",
    );
    assert_eq!(
        (old.status, old.device, old.local.qp),
        (Some(WcStatus::REM_ACCESS), None, Some(0x10))
    );
    let on = decode_one(
        "UCX ERROR send completion[0] with error on mlx5_0/0x55: remote access error, vendor_err 0x88 wr_id 0x1",
    );
    assert_eq!((on.status, on.device.as_deref()), (Some(WcStatus::REM_ACCESS), Some("mlx5_0")));
    assert!(
        decode(["[h:1:0:1] RC QP 0x1a2 wqe[7]: SEND s-- [rqpn 0x3b]"]).is_empty(),
        "alone it says nothing"
    );
}

#[test]
fn async_events() {
    for (line, name, severity, qp) in [
        ("NET/IB : Got async event : port error", "port error", Severity::Info, None),
        (
            "NET/IB : mlx5_0:1 Got async event : GID table change",
            "GID table change",
            Severity::Info,
            None,
        ),
        ("NET/IB : mlx5_0:1 GID table changed", "GID table change", Severity::Info, None),
        (
            "NET/IB : mlx5_0:1 async fatal event: local catastrophic error",
            "local catastrophic error",
            Severity::Error,
            None,
        ),
        (
            "NET/IB : mlx5_0:1 async fatal event on QP (0x7f): local access violation work queue error qpn=7 handle=1",
            "local access violation work queue error",
            Severity::Error,
            Some(7),
        ),
        (
            "NET/IB : mlx5_0:1 Got non-fatal async event: something new(77)",
            "unknown event",
            Severity::Info,
            None,
        ),
    ] {
        let record = decode_one(&format!("h:1:2 [0] NCCL WARN {line}"));
        let event = record.event.as_ref().unwrap_or_else(|| panic!("{line}"));
        assert_eq!(
            (event.name(), record.severity(), record.local.qp),
            (name, severity, qp),
            "{line}"
        );
    }
    let ucx = decode_one(
        "UCX WARN IB Async event on mlx5_0: local work queue catastrophic error on QPN 0x1a2",
    );
    assert_eq!((ucx.local.qp, ucx.severity()), (Some(0x1a2), Severity::Error));
}

#[test]
fn kernel_of_every_age() {
    let old = "[ 12.5] mlx5_2:dump_cqe:263:(pid 0): dump error cqe\n\
               [ 12.5] 00000000 00000000 00000000 00000000\n\
               [ 12.5] 00000000 00000000 00000000 00000000\n\
               [ 12.5] 00000000 00000000 00000000 00000000\n\
               [ 12.5] 00000000 a9005604 000001e9 0054e8e2";
    let record = decode_one(old);
    assert_eq!((record.status, record.vendor_err), (Some(WcStatus::LOC_PROT), Some(0x56)));
    assert_eq!((record.device.as_deref(), record.lines), (Some("mlx5_2"), 5));
    assert_eq!(record.vendor_code().unwrap().evidence, Evidence::Unknown);
    assert_eq!((record.operation, record.event), (None, None), "a responder's opcode is none");
    let fatal = decode_one(
        "infiniband rocep2s0: rocep2s0/1: QP 137 error: unrecognized status (0x41 0x0 0x0)",
    );
    assert_eq!(
        (fatal.local.qp, fatal.status, fatal.severity()),
        (Some(137), None, Severity::Error)
    );
    let cq = decode_one(
        "mlx5_core 0000:01:00.0: cq_err_event_notifier:517:(pid 9): CQ error on CQN 0x406, syndrome 0x1",
    );
    assert_eq!((cq.cqn, cq.severity()), (Some(0x406), Severity::Error));
    let flood = "mlx5_core 0000:01:00.0: mlx5_cmd_out_err:838:(pid 1): ACCESS_REG(0x805) op_mod(0x1) failed, status \
                 bad parameter(0x3), syndrome (0x1), err(-22)";
    assert!(decode([flood]).is_empty(), "reading counters is not an error of a QP");
    let down = decode_one("mlx5_core 0000:01:00.0 ens1f0np0: Link down");
    assert_eq!((down.cause(), down.severity()), (Some(Cause::LinkFlap), Severity::Info));
    assert_eq!(down.device.as_deref(), Some("ens1f0np0"));
    assert!(decode(["app: Link down for maintenance"]).is_empty());
    let unexpected = decode_one("mlx5_ib: Unexpected event type 7 on QP 00012a");
    assert_eq!((unexpected.local.qp, unexpected.severity()), (Some(0x12a), Severity::Info));
    let cable =
        "mlx5_core 0000:01:00.0: Port module event[error]: module 0, Cable error, High Temperature";
    assert_eq!(decode_one(cable).severity(), Severity::Info);
    let power = "mlx5_core 0000:01:00.0: mlx5_pcie_event:301:(pid 9): Detected insufficient power on the PCIe slot (27W).";
    assert_eq!(decode_one(power).device.as_deref(), Some("0000:01:00.0"));
}

#[test]
fn storage() {
    for (line, status, format) in [
        (
            "nvme_rdma.c: 459:nvme_rdma_log_wc_status: *ERROR*: WC error, qid 1, qp state 1, request 0x140 type 1, status: \
             (12): transport retry counter exceeded",
            WcStatus::RETRY_EXC,
            "SPDK initiator",
        ),
        (
            "[2020-11-30 06:34:52.438899] nvme_rdma.c:2283:nvme_rdma_cq_process_completions: *ERROR*: CQ error on Queue \
             Pair 0x7f5e08000d30, Response Index 140041837885990 (12): transport retry counter exceeded",
            WcStatus::RETRY_EXC,
            "SPDK initiator",
        ),
        (
            "rdma.c:2633:spdk_nvmf_rdma_poller_poll: *WARNING*: CQ error on CQ 0x613000001c40, Request 0x139876681056184 \
             (5): Work Request Flushed Error",
            WcStatus::WR_FLUSH,
            "SPDK target",
        ),
        (
            "rdma.c:3778:nvmf_rdma_log_wc_status: *ERROR*: Error on CQ 0xffff4c0921f0, (qp state 1 ibv_state 6) request \
             0x281468000176408, type SEND, opcode 0, status: (12): transport retry counter exceeded rqpair 0x2c1cc180 \
             byte_len 4096",
            WcStatus::RETRY_EXC,
            "SPDK target",
        ),
        (
            "nvmet_rdma: RDMA READ for CQE 0x00000000a1b2c3d4 failed with status remote access error (10).",
            WcStatus::REM_ACCESS,
            "nvmet-rdma",
        ),
    ] {
        let record = decode_one(line);
        assert_eq!((record.status, record.producer_format), (Some(status), Some(format)), "{line}");
        assert!(!record.is_truncated, "{line}");
    }
    let event =
        decode_one("rdma.c:2249:spdk_nvmf_process_ib_event: *NOTICE*: Async event: port error");
    assert_eq!(event.cause(), Some(Cause::LinkFlap));
    let timeout = decode_one("nvme nvme1: I/O 12 QID 3 timeout");
    assert_eq!(timeout.event.as_ref().map(Event::name), Some("request_timeout"));
    assert!(decode(["nvme nvme0: I/O 12 QID 3 timeout, completion polled"]).is_empty(), "a disk");
    let stray = decode_one("nvme nvme1: tag 0x1f on QP 0x2a1 not found");
    assert_eq!((stray.local.qp, stray.severity()), (Some(0x2a1), Severity::Error));
    let target = decode_one("nvmet_rdma: received IB QP event: QP access error (3)");
    assert_eq!(target.cause(), Some(Cause::AccessError));
    let recovery = decode_one("nvme nvme1: starting error recovery");
    assert_eq!((recovery.severity(), recovery.device.as_deref()), (Severity::Info, Some("nvme1")));
}

#[test]
fn open_mpi_names_hosts() {
    let record = decode_one(
        "[node1][[5,1],0][btl_openib_component.c:3496:handle_wc] from node1 to: node2 error polling LP CQ with status \
         RETRY EXCEEDED ERROR status number 12 for wr_id bdba80 opcode 128  vendor error 129 qp_idx 3",
    );
    assert_eq!(
        (record.host.as_deref(), record.peer.host.as_deref()),
        (Some("node1"), Some("node2"))
    );
    assert_eq!((record.status, record.vendor_err), (Some(WcStatus::RETRY_EXC), Some(0x81)));
    assert_eq!((record.wr_id, record.opcode_raw), (Some(0xbd_ba80), Some(128)));
}

#[test]
fn libfabric_with_and_without_a_dump() {
    let log = "mlx5: cn10: got completion with error:\n\
               00000000 00000000 00000000 00000000\n\
               00000000 00000000 00000000 00000000\n\
               00000002 00000000 00000000 00000000\n\
               00000000 00008813 10012abe 0dd0c1d3\n\
               libfabric:ofi_rxm:cq:rxm_cq_read_write_error():819<warn> fi_cq_readerr: err: 5, prov_err: remote access \
               error (10)";
    let record = decode_one(log);
    assert_eq!(
        (record.producer, record.lines, record.local.qp),
        (Producer::Libmlx5, 6, Some(0x1_2abe))
    );
    for line in [
        "[error] fabtests:common/shared.c:9: cq_readerr (Provider errno: 12) : transport retry counter exceeded",
        "cq_readerr 5 (Input/output error), provider errno: 12 (transport retry counter exceeded)",
        "Completion with error: Operation canceled (err 125 prov_errno 12)",
    ] {
        let record = decode_one(line);
        assert_eq!(
            (record.producer, record.status),
            (Producer::Libfabric, Some(WcStatus::RETRY_EXC)),
            "{line}"
        );
    }
    for line in [
        "Completion with error: Input/output error (err 5 prov_errno -1073741536)",
        "cq_readerr 5 (Input/output error), provider errno: 12 (Unreachable remote)",
    ] {
        assert!(decode([line]).is_empty(), "another provider's number: {line}");
    }
}

#[test]
fn lustre_and_soft_roce() {
    let tx = decode_one(
        "LNetError: 12:0:(o2iblnd_cb.c:1:kiblnd_tx_complete()) Tx -> 10.0.0.12@o2ib cookie 0x1 sending 1 waiting 0: failed 12",
    );
    assert_eq!((tx.status, tx.producer), (Some(WcStatus::RETRY_EXC), Producer::Lustre));
    let rxe = decode_one("rdma_rxe: qp#17 rxe_completer: non-flush error status = 13");
    assert_eq!((rxe.status, rxe.local.qp), (Some(WcStatus::RNR_RETRY_EXC), Some(17)));
    assert_eq!(rxe.cause(), Some(Cause::ReceiverNotReady), "receiver buffers, not the fabric");
}

#[test]
fn what_is_no_error() {
    for line in [
        "",
        "h:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.11<0>",
        "h:1:2 [0] NCCL INFO NET/IB: Dev 0 Port 1 qpn 137 mtu 5 GID 3 (0/B00000AFFFF0000)",
        "h:1:2 [0] NCCL INFO NCCL_IB_RETRY_CNT set by environment to 7.",
        "GET /x failed with status 404 Not Found (404)",
        "error polling something",
        "status number 12",
        "Invalid request error",
        "scnt=128, ccnt=0",
    ] {
        assert!(decode([line]).is_empty(), "{line}");
    }
}

#[test]
fn odd_lines_give_what_they_have() {
    for (line, status) in [
        ("NCCL WARN NET/IB : Got completion with error 12, opc", Some(WcStatus::RETRY_EXC)),
        (
            "NCCL WARN NET/IB : Got completion from peer 10.0.0.12<52184> with error 99, opcode",
            None,
        ),
        ("nvme nvme1: SEND for CQE 0x1 failed with status ??? (10", Some(WcStatus::REM_ACCESS)),
        ("my program: Transport Retry Counter Exceeded!", Some(WcStatus::RETRY_EXC)),
        ("Completion with error at client", None),
    ] {
        let record = decode_one(line);
        assert_eq!((record.status, record.severity()), (status, Severity::Error), "{line}");
    }
}
