//! Parts of the engine that the kernel's verifier checks on their own.
//!
//! The engine is one function with some thousand ways through it, and the verifier would walk each of
//! them to its end. So on the packet path its heavier parts are global functions: each is checked once,
//! for any arguments and any state. Elsewhere they are ordinary, inlined ones.
//!
//! A global function takes words and pointers that may be null, and returns a word.

use super::{PacketClass, Sequence, SequencePacket, SequenceState, SequenceWord};
use crate::psn::Psn;

macro_rules! global {
    (fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block) => {
        /// # Safety
        ///
        /// Each pointer is null, or nobody else uses what it points to meanwhile.
        #[cfg_attr(target_arch = "bpf", unsafe(no_mangle), inline(never))]
        #[cfg_attr(not(target_arch = "bpf"), inline(always))]
        unsafe extern "C" fn $name($($argument: $type),*) -> u32 $body
    };
}

/// What a pointer points to, or 0 for the function's result.
macro_rules! borrow {
    ($pointer:ident) => {
        // SAFETY: the caller vouches for the pointer.
        let Some($pointer) = (unsafe { $pointer.as_mut() }) else { return 0 };
    };
    (const $pointer:ident) => {
        // SAFETY: the caller vouches for the pointer.
        let Some($pointer) = (unsafe { $pointer.as_ref() }) else { return 0 };
    };
}

global!(
    fn roce_sequence_learn(
        state: *mut SequenceState,
        word: *mut SequenceWord,
        packet: *const SequencePacket,
    ) {
        borrow!(state);
        borrow!(word);
        borrow!(const packet);
        Sequence { word, state }.learn_here(packet) as u32
    }
);

global!(
    fn roce_sequence_ahead(
        state: *mut SequenceState,
        word: *mut SequenceWord,
        packet: *const SequencePacket,
        ahead: u32,
    ) {
        borrow!(state);
        borrow!(word);
        borrow!(const packet);
        Sequence { word, state }.ahead_here(packet, ahead) as u32
    }
);

global!(
    fn roce_sequence_behind(
        state: *mut SequenceState,
        word: *mut SequenceWord,
        packet: *const SequencePacket,
        back: u32,
    ) {
        borrow!(state);
        borrow!(word);
        borrow!(const packet);
        Sequence { word, state }.behind_here(packet, back) as u32
    }
);

global!(
    fn roce_sequence_arrived(state: *mut SequenceState, word: *mut SequenceWord, psn: u32) {
        borrow!(state);
        borrow!(word);
        Sequence { word, state }.arrived_here(Psn::new(psn));
        0
    }
);

global!(
    fn roce_sequence_note_path_mtu(
        state: *mut SequenceState,
        word: *mut SequenceWord,
        path_mtu: u32,
    ) {
        borrow!(state);
        borrow!(word);
        Sequence { word, state }.note_path_mtu_here(path_mtu);
        0
    }
);

global!(
    fn roce_sequence_close_burst(state: *mut SequenceState, word: *mut SequenceWord) {
        borrow!(state);
        borrow!(word);
        Sequence { word, state }.close_burst_here();
        0
    }
);

global!(
    fn roce_sequence_join(
        state: *mut SequenceState,
        word: *mut SequenceWord,
        packet: *const SequencePacket,
        missing: u32,
        span_and_echo: u32,
    ) {
        borrow!(state);
        borrow!(word);
        borrow!(const packet);
        let (span, is_echo) = (span_and_echo & !IS_ECHO, span_and_echo & IS_ECHO != 0);
        Sequence { word, state }.join_here(packet, missing, span, is_echo);
        0
    }
);

global!(
    fn roce_sequence_begin(
        state: *mut SequenceState,
        word: *mut SequenceWord,
        packet: *const SequencePacket,
        missing: u32,
        span_and_echo: u32,
    ) {
        borrow!(state);
        borrow!(word);
        borrow!(const packet);
        let (span, is_echo) = (span_and_echo & !IS_ECHO, span_and_echo & IS_ECHO != 0);
        Sequence { word, state }.begin_here(packet, missing, span, is_echo);
        0
    }
);

/// Marks a span of an echo: there is no room for another argument.
const IS_ECHO: u32 = 1 << 31;

const fn with_echo(span: u32, is_echo: bool) -> u32 {
    if is_echo { span | IS_ECHO } else { span & !IS_ECHO }
}

impl Sequence<'_> {
    /// Takes the first packet of a sequence.
    #[inline(always)]
    pub(super) fn learn(&mut self, packet: &SequencePacket) -> PacketClass {
        // SAFETY: the pointers are unique references.
        PacketClass::of_code(unsafe { roce_sequence_learn(self.state, self.word, packet) })
    }

    /// Takes a packet whose PSN is `ahead` after the next one.
    #[inline(always)]
    pub(super) fn ahead(&mut self, packet: &SequencePacket, ahead: u32) -> PacketClass {
        // SAFETY: the pointers are unique references.
        PacketClass::of_code(unsafe { roce_sequence_ahead(self.state, self.word, packet, ahead) })
    }

    /// Takes a packet whose PSN is `back` before the next one.
    #[inline(always)]
    pub(super) fn behind(&mut self, packet: &SequencePacket, back: u32) -> PacketClass {
        // SAFETY: the pointers are unique references.
        PacketClass::of_code(unsafe { roce_sequence_behind(self.state, self.word, packet, back) })
    }

    /// The peer has everything up to `psn`.
    #[inline(always)]
    pub(super) fn arrived(&mut self, psn: Psn) {
        // SAFETY: the pointers are unique references.
        unsafe { roce_sequence_arrived(self.state, self.word, psn.get()) };
    }

    /// The path MTU is known, so that it shows what the READs before took: for the record of the
    /// requests, and only while [`Self::awaits_mtu`].
    #[inline(always)]
    pub fn note_path_mtu(&mut self, path_mtu: u32) {
        // SAFETY: the pointers are unique references.
        unsafe { roce_sequence_note_path_mtu(self.state, self.word, path_mtu) };
    }

    /// The burst was late by itself; but what was asked for may have been sent again alone.
    #[inline(always)]
    pub(super) fn close_burst(&mut self) {
        // SAFETY: the pointers are unique references.
        unsafe { roce_sequence_close_burst(self.state, self.word) };
    }

    /// A packet in a row with others of which nobody can tell yet what they are.
    #[inline(always)]
    pub(super) fn join(&mut self, packet: &SequencePacket, missing: u32, span: u32, is_echo: bool) {
        let span = with_echo(span, is_echo);
        // SAFETY: the pointers are unique references.
        unsafe { roce_sequence_join(self.state, self.word, packet, missing, span) };
    }

    /// A packet that neither a rewind nor a burst goes on with.
    #[inline(always)]
    pub(super) fn begin(
        &mut self,
        packet: &SequencePacket,
        missing: u32,
        span: u32,
        is_echo: bool,
    ) {
        let span = with_echo(span, is_echo);
        // SAFETY: the pointers are unique references.
        unsafe { roce_sequence_begin(self.state, self.word, packet, missing, span) };
    }
}
