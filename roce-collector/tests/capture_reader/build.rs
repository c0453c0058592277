//! Writes capture files field by field, in either byte order.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    pub(crate) fn u16(self, value: u16) -> [u8; 2] {
        if self == Self::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub(crate) fn u32(self, value: u32) -> [u8; 4] {
        if self == Self::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub(crate) fn u64(self, value: u64) -> [u8; 8] {
        if self == Self::Little { value.to_le_bytes() } else { value.to_be_bytes() }
    }
}

/// A classic pcap file under construction.
pub(crate) struct Pcap {
    order: Order,
    pub(crate) bytes: Vec<u8>,
    /// Where each packet ends.
    pub(crate) ends: Vec<usize>,
}

impl Pcap {
    pub(crate) fn new(order: Order, magic: u32, link_type: u32) -> Self {
        let mut bytes = Vec::new();
        bytes.extend(order.u32(magic));
        bytes.extend([order.u16(2), order.u16(4)].concat());
        for field in [0, 0, 262_144, link_type] {
            bytes.extend(order.u32(field));
        }
        Self { order, bytes, ends: Vec::new() }
    }

    pub(crate) fn packet(
        mut self,
        seconds: u32,
        fraction: u32,
        original: u32,
        data: &[u8],
    ) -> Self {
        for field in [seconds, fraction, data.len() as u32, original] {
            self.bytes.extend(self.order.u32(field));
        }
        self.bytes.extend(data);
        self.ends.push(self.bytes.len());
        self
    }
}

/// A pcapng file under construction.
#[derive(Default)]
pub(crate) struct PcapNg {
    pub(crate) bytes: Vec<u8>,
    /// Where each block ends, and whether it is a packet.
    pub(crate) ends: Vec<(usize, bool)>,
}

impl PcapNg {
    pub(crate) fn block(mut self, order: Order, kind: u32, body: &[&[u8]]) -> Self {
        let mut body = body.concat();
        body.resize(body.len().next_multiple_of(4), 0);
        let len = order.u32(body.len() as u32 + 12);
        self.bytes.extend([&order.u32(kind)[..], &len, &body, &len].concat());
        self.ends.push((self.bytes.len(), matches!(kind, 2 | 3 | 6)));
        self
    }

    /// Where each packet block ends.
    pub(crate) fn packet_ends(&self) -> Vec<usize> {
        self.ends.iter().filter(|(_, packet)| *packet).map(|&(end, _)| end).collect()
    }

    pub(crate) fn section(self, order: Order) -> Self {
        let body = [order.u32(0x1a2b_3c4d), order.u32(0)].concat();
        let version = [order.u16(1), order.u16(0)].concat();
        self.block(order, 0x0a0d_0d0a, &[&body[..4], &version, &order.u64(u64::MAX)])
    }

    pub(crate) fn interface(
        self,
        order: Order,
        link_type: u16,
        snaplen: u32,
        options: &[u8],
    ) -> Self {
        let head = [order.u16(link_type), order.u16(0)].concat();
        self.block(order, 1, &[&head, &order.u32(snaplen), options])
    }

    pub(crate) fn statistics(self, order: Order, interface: u32, options: &[u8]) -> Self {
        self.block(order, 5, &[&order.u32(interface), &[0; 8], options])
    }

    /// An Enhanced Packet Block.
    pub(crate) fn packet(self, order: Order, interface: u32, ticks: u64, data: &[u8]) -> Self {
        self.packet_with(order, interface, ticks, data, &[])
    }

    pub(crate) fn packet_with(
        self,
        order: Order,
        interface: u32,
        ticks: u64,
        data: &[u8],
        options: &[u8],
    ) -> Self {
        let interface = order.u32(interface);
        self.packet_block(order, 6, &interface, ticks, data, options)
    }

    /// The obsolete Packet Block.
    pub(crate) fn old_packet(self, order: Order, interface: u16, drops: u16, ticks: u64) -> Self {
        let head = [order.u16(interface), order.u16(drops)].concat();
        self.packet_block(order, 2, &head, ticks, b"old", &[])
    }

    fn packet_block(
        self,
        order: Order,
        kind: u32,
        head: &[u8],
        ticks: u64,
        data: &[u8],
        options: &[u8],
    ) -> Self {
        let time = [order.u32((ticks >> 32) as u32), order.u32(ticks as u32)].concat();
        let len = order.u32(data.len() as u32);
        let padding = &[0; 3][..data.len().next_multiple_of(4) - data.len()];
        self.block(order, kind, &[head, &time, &len, &len, data, padding, options])
    }
}

/// One option of a pcapng block, padded.
pub(crate) fn option(order: Order, code: u16, value: &[u8]) -> Vec<u8> {
    let mut option = [order.u16(code), order.u16(value.len() as u16)].concat();
    option.extend(value);
    option.resize(option.len().next_multiple_of(4), 0);
    option
}
