use super::*;
use rtnetlink::packet_route::link::LinkHeader;

#[expect(
    clippy::field_reassign_with_default,
    reason = "the structs of netlink-packet-route are non-exhaustive"
)]
fn message(attributes: Vec<LinkAttribute>) -> LinkMessage {
    let mut header = LinkHeader::default();
    header.index = 7;
    header.flags = LinkFlags::Up;
    let mut message = LinkMessage::default();
    message.header = header;
    message.attributes = vec![LinkAttribute::IfName("eth0".into()), LinkAttribute::Mtu(9000)];
    message.attributes.extend(attributes);
    message
}

fn kind(kind: InfoKind) -> LinkAttribute {
    LinkAttribute::LinkInfo(vec![LinkInfo::Kind(kind)])
}

#[test]
fn a_vlan_and_a_bond_port_are_recognised() {
    let vlan = link_facts(message(vec![kind(InfoKind::Vlan), LinkAttribute::Link(3)])).unwrap();
    assert_eq!((vlan.kind, vlan.lower, vlan.mtu), (LinkKind::Vlan, Some(3), 9000));
    assert_eq!((vlan.index, vlan.is_up, vlan.name.as_str()), (7, true, "eth0"));

    let port = link_facts(message(vec![LinkAttribute::Controller(4)])).unwrap();
    assert_eq!((port.kind, port.master), (LinkKind::Physical, Some(4)));
    let bond = link_facts(message(vec![kind(InfoKind::Bond)])).unwrap();
    assert_eq!(bond.kind, LinkKind::Bond);
    let bridge = link_facts(message(vec![kind(InfoKind::Bridge)])).unwrap();
    assert_eq!(bridge.kind, LinkKind::Other("bridge".into()));
}

#[test]
fn a_message_without_a_name_is_left_out() {
    let mut nameless = message(Vec::new());
    nameless.attributes.clear();
    assert_eq!(link_facts(nameless), None);
}

#[test]
fn attached_programs_are_read_in_every_form() {
    let native = AttachedXdp { mode: XdpMode::Native, program: 12 };
    let single =
        [LinkXdp::Attached(XdpAttached::Driver), LinkXdp::ProgId(12), LinkXdp::DrvProgId(12)];
    assert_eq!(attached_xdp(&single), [native]);
    assert_eq!(attached_xdp(&single[..2]), [native]);
    let several =
        [LinkXdp::Attached(XdpAttached::Multiple), LinkXdp::DrvProgId(12), LinkXdp::HwProgId(13)];
    let offloaded = AttachedXdp { mode: XdpMode::Offloaded, program: 13 };
    assert_eq!(attached_xdp(&several), [native, offloaded]);
    assert_eq!(attached_xdp(&[LinkXdp::Attached(XdpAttached::None)]), []);
}

#[test]
fn only_own_filters_are_taken() {
    let filter = |name: &str| {
        let mut message = TcMessage::with_index(7);
        message.header.handle = 0x0001_e240.into();
        message.header.info = 49152 << 16 | 3;
        let name = TcFilterBpfOption::ProgName(name.into());
        message.attributes =
            vec![TcAttribute::Kind("bpf".into()), TcAttribute::Options(vec![TcOption::Bpf(name)])];
        own_filter(&message, Direction::Egress)
    };
    let expected = TcFilter { direction: Direction::Egress, priority: 49152, handle: 123_456 };
    assert_eq!(filter("roce_tc_egress"), Some(expected));
    assert_eq!(filter("cil_to_netdev"), None);
}

#[test]
fn the_driver_is_the_last_part_of_the_link() {
    let root = tempfile::tempdir().unwrap();
    let device = root.path().join("class/net/eth0/device");
    fs::create_dir_all(&device).unwrap();
    std::os::unix::fs::symlink("../../../bus/pci/drivers/mlx5_core", device.join("driver"))
        .unwrap();
    assert_eq!(driver(root.path(), "eth0").as_deref(), Some("mlx5_core"));
    assert_eq!(driver(root.path(), "veth0"), None);
}
