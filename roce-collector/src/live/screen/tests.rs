//! The screen on a terminal that only remembers.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Cell;

use super::super::Sample;
use super::super::testing::{flow, sample, troubled, view};
use super::*;
use crate::flow::RetriesReport;

const PACE: Pace = Pace { interval: Duration::from_secs(1), count: None, duration: None };

fn screen(question: Question) -> Screen {
    Screen::new("attached by this command".to_owned(), question, PACE, true)
}

fn drawn(screen: &mut Screen, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen.draw(frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let rows = buffer.content().chunks(usize::from(width));
    rows.map(|row| row.iter().map(Cell::symbol).collect::<String>().trim_end().to_owned()).collect()
}

fn press(screen: &mut Screen, code: KeyCode) -> Next {
    screen.key(KeyEvent::new(code, KeyModifiers::NONE))
}

fn two_flows(seconds: u64, packets: u64) -> Sample {
    sample(seconds, vec![flow(0x46, packets * 10), troubled(0x45, packets)])
}

#[test]
fn one_hundred_and_twenty_columns() {
    let mut screen = screen(Question::default());
    screen.update(view(vec![two_flows(100, 1000), two_flows(101, 2000)]));
    let expected = "\
roce-trace live  attached by this command  00:01:41Z, every 1 s
TAP                     PKT/S BYTE/S LOST/S RETX/S CNP/S NAK/S    CE MISMARK/S
eth0 ingress xdp native 11.0k  1.10M      0      0     0     0  0.0%         0
eth0 egress tc tcx          0      0      0      0     0     0     –         0
visible: RoCE packets pass these hooks

DIR SOURCE     DESTINATION QP   TYPE PKT/S BIT/S LOST RETX UNSEEN REORD NAK RNR  CNP    CE    RTT DSCP MARK         SEEN
in  198.18.0.1 198.19.0.1  0x45 RC   1.00k  800k   40   80      4    20 200 100  400 25.0% 12.5µs 0    dscp,not-ect  now
in  198.18.0.1 198.19.0.1  0x46 RC   10.0k 8.00M    –    –      –     –   0   0    0  0.0%      – 26   ok              –


q quit  s sort  p pause  ? help   sorted by trouble   2 flows";
    assert_eq!(drawn(&mut screen, 120, 12).join("\n"), expected);
}

#[test]
fn eighty_columns() {
    let mut screen = screen(Question::default());
    screen.update(view(vec![two_flows(100, 1000), two_flows(101, 2000)]));
    let lines = drawn(&mut screen, 80, 24);
    assert_eq!(
        lines[2],
        "eth0 ingress xdp native 11.0k  1.10M      0      0     0     0  0.0%         0"
    );
    let expected = "\
DIR SOURCE     DESTINATION QP   PKT/S BIT/S LOST RETX NAK  CNP MARK
in  198.18.0.1 198.19.0.1  0x45 1.00k  800k   40   80 200  400 dscp,not-ect
in  198.18.0.1 198.19.0.1  0x46 10.0k 8.00M    –    –   0    0 ok";
    assert_eq!(lines[6..9].join("\n"), expected);
    assert_eq!(lines[23], "q quit  s sort  p pause  ? help   sorted by trouble   2 flows");
}

#[test]
fn trouble_is_red_unless_colours_are_unwanted() {
    for has_colours in [true, false] {
        let mut screen = Screen { has_colours, ..screen(Question::default()) };
        screen.update(view(vec![two_flows(100, 1000)]));
        let mut terminal = Terminal::new(TestBackend::new(120, 12)).unwrap();
        terminal.draw(|frame| screen.draw(frame)).unwrap();
        let cells = terminal.backend().buffer().content();
        assert_eq!(cells.iter().any(|cell| cell.fg == Color::Red), has_colours);
        assert_eq!(cells.iter().any(|cell| cell.fg != Color::Reset), has_colours);
    }
}

#[test]
fn a_paused_screen_stands_still_and_misses_nothing() {
    let mut screen = screen(Question::default());
    screen.update(view(vec![two_flows(100, 1000)]));
    press(&mut screen, KeyCode::Char('p'));
    screen.update(view(vec![two_flows(101, 2000)]));
    let lines = drawn(&mut screen, 120, 12);
    assert!(lines[0].ends_with("00:01:40Z, every 1 s  PAUSED"), "{}", lines[0]);
    press(&mut screen, KeyCode::Char('p'));
    assert!(drawn(&mut screen, 120, 12)[0].ends_with("00:01:41Z, every 1 s"));
}

#[test]
fn the_last_flows_can_be_reached() {
    let mut screen = screen(Question::default());
    screen.update(view(vec![sample(100, (1..=40).map(|qp| flow(qp, 1000)).collect())]));
    let lines = drawn(&mut screen, 80, 20);
    assert!(lines[19].ends_with("flows 1 to 12 of 40"), "{}", lines[19]);
    press(&mut screen, KeyCode::End);
    let lines = drawn(&mut screen, 80, 20);
    assert!(
        lines[18].contains("0x28") && lines[19].ends_with("flows 29 to 40 of 40"),
        "{lines:#?}"
    );
}

#[test]
fn no_flow_is_said_in_words() {
    let question = Question { qp: Some(0x45), peer: None };
    let nothing = |seconds| sample(seconds, Vec::new());
    let mut screen = screen(question);
    screen.update(view(vec![nothing(100), nothing(105)]));
    let text = drawn(&mut screen, 80, 24).join("\n");
    assert!(text.starts_with("roce-trace live  packets of QP 0x45"), "{text}");
    assert!(text.contains("nothing seen yet: no RoCE packet has passed these hooks"), "{text}");
    let headline = "no packet of QP 0x45 seen in 5 s on eth0 (ingress xdp native, egress tc tcx)";
    assert!(text.contains(headline), "{text}");
    assert!(text.contains("- The NIC handles RDMA itself (hardware offload)"), "{text}");
}

#[test]
fn packets_of_others_show_that_the_hooks_work() {
    let mut first = sample(100, Vec::new());
    let mut second = sample(106, Vec::new());
    for (sample, packets) in [(&mut first, 1000), (&mut second, 1500)] {
        sample.taps[0].seen.as_mut().unwrap().packets = packets;
    }
    let question = Question { qp: Some(0x45), peer: None };
    let mut screen = screen(question);
    screen.update(view(vec![first, second]));
    let text = drawn(&mut screen, 120, 24).join("\n");
    assert!(text.contains("500 RoCE packets of other flows passed in this time"), "{text}");
    assert!(!text.contains("offload"), "{text}");
}

#[test]
fn a_sender_without_an_answer_is_named() {
    let mut silent = flow(0x45, 1000);
    silent.retries = Some(RetriesReport {
        psn: 77,
        tries: 5,
        spacing_ms: 67.0,
        longest_silence_ms: 67.0,
        answered: false,
    });
    let mut answered = silent.clone();
    (answered.dst_qp, answered.retries.as_mut().unwrap().answered) = (0x46, true);
    let mut screen = screen(Question::default());
    screen.update(view(vec![sample(100, vec![silent, answered])]));
    let text = drawn(&mut screen, 160, 24).join("\n");
    let words = "no answer: 198.18.0.1 is on retry 5 of PSN 77 to QP 0x45 of 198.19.0.1";
    assert!(text.contains(words) && text.matches("no answer").count() == 1, "{text}");
}

#[test]
fn blindness_help_and_small_screens() {
    let mut blind = two_flows(100, 1000);
    blind.blind.push("eth0 (mlx5_0/1): RDMA traffic bypasses the kernel".to_owned());
    let mut screen = screen(Question::default());
    screen.update(view(vec![blind]));
    screen.missed("the collector does not answer".to_owned());
    let text = drawn(&mut screen, 120, 24).join("\n");
    assert!(
        text.contains("\nblind: eth0 (mlx5_0/1): RDMA traffic bypasses the kernel\n"),
        "{text}"
    );
    assert!(
        text.contains("\nthe collector does not answer; what stands below is old\n")
            && !text.contains("visible:"),
        "{text}"
    );
    for (width, height) in [(1, 1), (20, 2), (40, 5), (80, 8)] {
        drawn(&mut screen, width, height);
    }
    press(&mut screen, KeyCode::Char('?'));
    assert!(drawn(&mut screen, 80, 24).join("\n").contains("sort by trouble, packets"));
    assert_eq!(press(&mut screen, KeyCode::Char('q')), Next::Quit);
}
