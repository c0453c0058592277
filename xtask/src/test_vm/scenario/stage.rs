//! What one run of a scenario uses.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::lab::{Application, Capture, Collector, Failure, Faults, Host, Lab, Perftest, Way};

/// Time for something that takes a moment on an idle machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(25);

/// TCP port of the connection that the scenario is about; its neighbour has the next one.
const PORT: u16 = 7471;

/// What all runs share: loading the programs takes many seconds under emulation, and a collector that
/// has seen much is the harder test.
pub(super) struct House {
    collector: Collector,
    /// Where the applications complain, and the collector reads.
    complaints: PathBuf,
    /// Queue pairs of earlier runs.
    earlier: Vec<u64>,
}

impl House {
    /// Builds the lab and starts the collector, with its log in `folder`.
    pub(super) fn open(folder: &Path) -> Result<Self> {
        Lab::build().context("cannot build the lab")?;
        let complaints = PathBuf::from("/run/application.log");
        File::create(&complaints).context("cannot create the log of the applications")?;
        // Both devices count from 17 on: a mix-up of the two sides would not be seen.
        Application::start(Host::B, "skip", folder, &["skip".to_owned()])?.finish()?;
        let collector = Collector::start(folder, &complaints)?;
        Ok(Self { collector, complaints, earlier: Vec::new() })
    }

    pub(super) fn close(self) -> Result<()> {
        self.collector.stop()
    }
}

/// Captures and applications of a run.
pub(super) struct Stage<'a> {
    house: &'a mut House,
    folder: PathBuf,
    /// Lengths of the two logs when it began.
    marks: [u64; 2],
    captures: Vec<Capture>,
    responder: Option<Application>,
    requester: Option<Application>,
    neighbour: Vec<Application>,
    perftest: Option<Perftest>,
    /// All their queue pairs.
    pairs: Vec<u64>,
}

/// What the application of a scenario went through.
#[derive(Clone, Copy, Debug)]
pub(super) struct Played {
    /// QP of the requester.
    pub(super) qp: u64,
    pub(super) peer_qp: u64,
    /// Its process.
    pub(super) pid: u32,
    /// What it printed as its error, if any.
    pub(super) failure: Option<Failure>,
}

impl<'a> Stage<'a> {
    /// Starts captures, with everything in `folder`.
    pub(super) fn set(house: &'a mut House, folder: &Path) -> Result<Self> {
        Faults::none().apply()?;
        let captures = Host::BOTH.map(|host| Capture::start(host, folder));
        let length = |path: &Path| fs::metadata(path).map_or(0, |it| it.len());
        Ok(Self {
            marks: [length(house.collector.log()), length(&house.complaints)],
            house,
            folder: folder.to_owned(),
            captures: captures.into_iter().collect::<Result<_>>()?,
            responder: None,
            requester: None,
            neighbour: Vec::new(),
            perftest: None,
            pairs: Vec::new(),
        })
    }

    /// Connects the two sides and waits until messages flow; the words are further options.
    pub(super) fn connect(&mut self, responder: &str, requester: &str) -> Result<Played> {
        let requester = format!("{requester} --log {}", self.house.complaints.display());
        let (answers, mut asks) = self.pair("", PORT, responder, &requester)?;
        let connected = asks.wait_for("connected", PATIENCE)?;
        let number = |name: &str| connected[name].as_u64().context("an event without a number");
        let played = Played {
            qp: number("qp")?,
            peer_qp: number("peer_qp")?,
            pid: asks.pid(),
            failure: None,
        };
        self.pairs.extend([played.qp, played.peer_qp]);
        asks.wait_for("streaming", PATIENCE)?;
        self.note("messages flow")?;
        (self.responder, self.requester) = (Some(answers), Some(asks));
        Ok(played)
    }

    /// A second connection between the hosts, which goes on to the end.
    pub(super) fn neighbour(&mut self, requester: &str) -> Result<()> {
        let (answers, mut asks) = self.pair("neighbour-", PORT + 1, "", requester)?;
        let connected = asks.wait_for("connected", PATIENCE)?;
        self.pairs.extend(["qp", "peer_qp"].iter().filter_map(|name| connected[name].as_u64()));
        asks.wait_for("streaming", PATIENCE)?;
        self.note("the neighbour's messages flow")?;
        self.neighbour = vec![asks, answers];
        Ok(())
    }

    /// Starts perftest and waits until the collector sees its queue pair.
    pub(super) fn perftest(&mut self, options: &str) -> Result<Played> {
        let perftest = self.perftest.insert(Perftest::start(&self.folder, options)?);
        let pid = perftest.pid();
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            let answer = Collector::get(&format!("/api/v1/qps?pid={pid}"))?;
            let own = &answer["qps"][0];
            if let (Some(qp), Some(peer_qp)) = (own["lqpn"].as_u64(), own["rqpn"].as_u64()) {
                self.pairs.extend([qp, peer_qp]);
                self.note("perftest is connected")?;
                return Ok(Played { qp, peer_qp, pid, failure: None });
            }
            thread::sleep(Duration::from_millis(100));
        }
        bail!("the collector does not list the queue pair of perftest, process {pid}")
    }

    /// Waits until perftest is through.
    pub(super) fn end_of_perftest(&mut self) -> Result<()> {
        self.perftest.as_mut().context("there is no perftest")?.finish(PATIENCE)?;
        self.note("perftest is through")
    }

    fn pair(
        &self,
        prefix: &str,
        port: u16,
        responder: &str,
        requester: &str,
    ) -> Result<(Application, Application)> {
        let address = Host::B.address();
        let start = |host, role: &str, at: &str, options: &str| {
            let words: Vec<_> = [role, at, &format!("{address}:{port}")]
                .into_iter()
                .chain(options.split_whitespace())
                .map(str::to_owned)
                .collect();
            Application::start(host, &format!("{prefix}{role}"), &self.folder, &words)
        };
        Ok((
            start(Host::B, "respond", "--listen", responder)?,
            start(Host::A, "request", "--connect", requester)?,
        ))
    }

    /// Puts these rules in place of all others.
    pub(super) fn faults(&self, faults: &Faults, note: &str) -> Result<()> {
        faults.apply()?;
        self.note(note)
    }

    pub(super) fn netem(&self, way: Way, words: &str) -> Result<()> {
        Faults::netem(way, words)?;
        self.note(&format!("netem {words}"))
    }

    /// Kills the side that answers.
    pub(super) fn kill_responder(&mut self) -> Result<()> {
        if let Some(responder) = self.responder.take() {
            responder.kill()?;
        }
        self.note("the responder is killed")
    }

    /// Waits for the error that the application prints.
    pub(super) fn failure(&mut self, limit: Duration) -> Result<Option<Failure>> {
        let requester = self.requester.as_mut().context("there is no requester")?;
        let failure = requester.failure(limit)?;
        self.note(if failure.is_some() { "the application failed" } else { "no failure" })?;
        Ok(failure)
    }

    /// Waits until the application is through with its messages.
    pub(super) fn end_of_messages(&mut self) -> Result<()> {
        let requester = self.requester.as_mut().context("there is no requester")?;
        requester.wait_for("done", PATIENCE)?;
        self.note("all messages are through")
    }

    /// Lets time pass.
    pub(super) fn wait(time: Duration) {
        thread::sleep(time);
    }

    /// Writes down when something happened.
    pub(super) fn note(&self, text: &str) -> Result<()> {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let path = self.folder.join("play.log");
        let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
        writeln!(file, "{}.{:09} {text}", time.as_secs(), time.subsec_nanos())
            .context("cannot write down what happened")
    }

    /// Keeps an answer of the collector among what the run leaves.
    pub(super) fn keep(&self, name: &str, answer: &Value) -> Result<()> {
        let path = self.folder.join(name);
        fs::write(&path, format!("{answer:#}\n"))
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// The collector's own log since the run began.
    pub(super) fn log(&self) -> Result<String> {
        since(self.house.collector.log(), self.marks[0])
    }

    /// Whether an earlier run made this queue pair.
    pub(super) fn is_earlier(&self, qp: u64) -> bool {
        self.house.earlier.contains(&qp)
    }

    /// Ends everything.
    pub(super) fn strike(mut self) -> Result<()> {
        // What is dropped is killed: first those that send.
        self.requester = None;
        self.responder = None;
        self.neighbour.clear();
        self.perftest = None;
        fs::write(self.folder.join("switch.txt"), Faults::counters()?)?;
        Faults::none().apply()?;
        for capture in self.captures {
            capture.stop()?;
        }
        let [own, complaints] = self.marks;
        fs::write(self.folder.join("collector.log"), since(self.house.collector.log(), own)?)?;
        fs::write(self.folder.join("application.log"), since(&self.house.complaints, complaints)?)?;
        self.house.earlier.append(&mut self.pairs);
        Ok(())
    }
}

/// What was added to a file since it was `start` bytes long.
fn since(path: &Path, start: u64) -> Result<String> {
    let mut file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
