//! Where samples come from.

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::collector::{Collector, Miss};
use super::own::Own;
use super::{CollectorAddress, LiveError, OwnOptions, Question, Sample};

/// Own tables are swept this often, for some of their counters wrap.
const STEP: Duration = Duration::from_secs(1);
/// Pause before a collector that has not swept is asked again, and how often.
const RETRY: Duration = Duration::from_millis(100);
const RETRIES: u32 = 30;

/// What is asked of whom.
#[derive(Clone, Debug)]
pub struct SourceOptions {
    /// A collector to ask, if one answers there; `None` to ask nobody.
    pub collector: Option<CollectorAddress>,
    /// What to attach to if none does. With a collector, only the names of the interfaces count, as a
    /// filter.
    pub own: OwnOptions,
    /// Which flows.
    pub question: Question,
    /// At most so many flows, those in trouble first.
    pub limit: usize,
}

/// A source of samples. Dropping it detaches what it attached.
#[derive(Debug)]
pub struct Source {
    kind: Kind,
    /// The first sample of a collector, which answered already.
    first: Option<Sample>,
}

#[derive(Debug)]
enum Kind {
    Collector(Collector),
    Own(Box<Own>),
}

impl Source {
    /// Asks whether a collector answers; if not, loads and attaches.
    ///
    /// # Errors
    /// When there is neither, or what is there cannot be used: see [`LiveError`].
    ///
    /// # Panics
    /// Outside of a tokio runtime with I/O and time.
    pub async fn find(options: SourceOptions) -> Result<Self, LiveError> {
        let SourceOptions { collector, own, question, limit } = options;
        let Some(address) = collector else {
            if own.interfaces.is_empty() {
                return Err(LiveError::NoInterface);
            }
            return Self::own(own, question, limit).await;
        };
        let mut collector = Collector::new(address, question, limit, own.interfaces.clone());
        match new_sample(&mut collector).await {
            Ok(first) => Ok(Self { kind: Kind::Collector(collector), first: Some(first) }),
            Err(Miss::Never(error)) => Err(error),
            Err(Miss::Busy(reason)) => {
                Err(LiveError::Strange { address: collector.address().to_string(), reason })
            }
            Err(Miss::Absent(reason)) if own.interfaces.is_empty() => {
                Err(LiveError::Nowhere { address: collector.address().to_string(), reason })
            }
            Err(Miss::Absent(_)) => Self::own(own, question, limit).await,
        }
    }

    async fn own(options: OwnOptions, question: Question, limit: usize) -> Result<Self, LiveError> {
        let own = Own::open(options, question, limit).await?;
        Ok(Self { kind: Kind::Own(Box::new(own)), first: None })
    }

    /// Whether the first sample says nothing, because counting begins with it.
    pub(super) const fn begins_empty(&self) -> bool {
        matches!(self.kind, Kind::Own(_))
    }

    /// Who says it, for people.
    pub fn name(&self) -> String {
        match &self.kind {
            Kind::Collector(collector) => format!("collector {}", collector.address()),
            Kind::Own(_) => "attached by this command".to_owned(),
        }
    }

    /// The state at `due`, or as soon after it as it can be had; the first one at once.
    ///
    /// # Errors
    /// When the tables cannot be read. A collector that does not answer is no error: see [`Reading`].
    pub(super) async fn sample_at(&mut self, due: Instant) -> Result<Reading, LiveError> {
        if let Some(first) = self.first.take() {
            return Ok(Reading::Sample(first));
        }
        match &mut self.kind {
            Kind::Own(own) => {
                while Instant::now() + STEP < due {
                    sleep(STEP).await;
                    own.step().await?;
                }
                sleep_until(due).await;
                Ok(Reading::Sample(own.sample().await?))
            }
            Kind::Collector(collector) => {
                sleep_until(due).await;
                match new_sample(collector).await {
                    Ok(sample) => Ok(Reading::Sample(sample)),
                    Err(Miss::Never(error)) => Err(error),
                    Err(Miss::Busy(reason) | Miss::Absent(reason)) => {
                        Ok(Reading::Missed(LiveError::Silent {
                            address: collector.address().to_string(),
                            reason,
                        }))
                    }
                }
            }
        }
    }
}

/// What came of asking.
#[derive(Debug)]
pub(super) enum Reading {
    Sample(Sample),
    /// A collector did not answer; it may again.
    Missed(LiveError),
}

/// The next sample that is new.
async fn new_sample(collector: &mut Collector) -> Result<Sample, Miss> {
    for _ in 0..RETRIES {
        if let Some(sample) = collector.sample().await? {
            return Ok(sample);
        }
        sleep(RETRY).await;
    }
    Err(Miss::Busy("its flow tables have not been looked at for 3 s".to_owned()))
}
