//! What ran while a task waited for its turn in a queue.

use crate::timeline::words::time;
use crate::timeline::{Place, Timeline, is_another};
use std::collections::BTreeMap;

/// How many polls of those that a task waited behind are looked at.
const BEHIND_MAX: usize = 20_000;

/// The polls that ran while a task waited.
pub(crate) struct Behind {
    /// How many polls.
    pub(crate) polls: usize,
    /// For how long, in nanoseconds.
    pub(crate) time: u64,
    /// The task that ran the longest, and for how long.
    pub(crate) longest: Option<(u64, u64)>,
    /// The line that spawned most of what ran, the number of its polls, and their time.
    most: Option<(String, usize, u64)>,
    /// Some of what ran may have been left out.
    pub(crate) has_gap: bool,
}

/// The threads that take tasks out of a queue.
pub(crate) struct Takers {
    lanes: Vec<usize>,
    /// They may work for several runtimes. Of another one than this no poll counts.
    runtime: Option<u64>,
}

impl Timeline {
    /// Which threads take a task out of a queue, and whose polls hold it up there.
    pub(crate) fn takers(&self, task: u64, place: Place, polled_on: Option<usize>) -> Takers {
        let all = 0..self.lanes.len();
        let lanes = match place {
            // The worker itself, and the one that has stolen the task from it.
            Place::Worker(lane) => {
                let mut lanes = vec![lane];
                lanes.extend(polled_on.filter(|other| *other != lane));
                lanes
            }
            Place::Injector => {
                let runtime = self.runtime_of(task);
                all.filter(|&lane| self.lanes[lane].works_for(runtime)).collect()
            }
            // Any thread that runs no worker may be one of the pool.
            Place::Pool => all.filter(|&lane| self.lanes[lane].worker.is_none()).collect(),
        };
        Takers { lanes, runtime: self.runtime_of(task) }
    }

    fn runtime_of(&self, task: u64) -> Option<u64> {
        self.tasks.get(&task).and_then(|task| task.runtime)
    }

    /// What ran on these threads between two times, except for one task.
    pub(crate) fn behind(&self, from: u64, to: u64, takers: &Takers, except: u64) -> Behind {
        let Takers { lanes, runtime } = takers;
        let has_gap = lanes.iter().any(|&lane| from < self.lanes[lane].complete_since);
        let mut behind = Behind { polls: 0, time: 0, longest: None, most: None, has_gap };
        let mut by_location: BTreeMap<&str, (usize, u64)> = BTreeMap::new();

        for &lane in lanes {
            let polls = &self.lanes[lane].polls;
            let first = polls.partition_point(|&poll| self.polls[poll].begin < from);
            // The one before may go on beyond `from`.
            for &index in polls[first.saturating_sub(1)..].iter().take(BEHIND_MAX) {
                let poll = &self.polls[index];
                if poll.begin >= to {
                    break;
                }

                // Only the part of it that lies between the two times held the task up. The future
                // of a `block_on` holds no queue up: it has a thread of its own.
                let end = poll.end.unwrap_or(self.end).min(to);
                let took = end.saturating_sub(poll.begin.max(from));
                let task = &self.tasks[&poll.task];
                let is_of_another = is_another(task.runtime, *runtime);
                if took == 0 || poll.task == except || task.is_main || is_of_another {
                    continue;
                }

                behind.polls += 1;
                behind.time += took;
                if behind.longest.is_none_or(|(_, longest)| took > longest) {
                    behind.longest = Some((poll.task, took));
                }
                let location = by_location.entry(&task.location).or_default();
                location.0 += 1;
                location.1 += took;
            }
        }

        // The polls of one line are one suspect.
        let most = by_location.into_iter().max_by_key(|(_, (_, time))| *time);
        if let Some((location, (polls, time))) = most {
            behind.most = Some((location.to_owned(), polls, time));
        }
        behind
    }

    /// The end of a sentence: behind what a task waited.
    pub(crate) fn behind_text(&self, behind: &Behind) -> String {
        let Some((longest, took)) = behind.longest else {
            // That nothing ran is said only if it is known.
            let text = match behind.has_gap {
                true => ", and what ran meanwhile was left out",
                false => ", and no poll was under way",
            };
            return text.to_owned();
        };

        let longest = self.label(longest);
        let longest_time = time(took);
        let (polls, all) = (behind.polls, time(behind.time));
        if polls == 1 {
            return format!(" behind one poll, of {longest}: {longest_time}");
        }

        // Many short polls of one line are a crowd, which no single one of them is to blame for.
        if let Some((location, polls_of, time_of)) = &behind.most
            && *polls_of > 1
            && *time_of > took
        {
            let time_of = time(*time_of);
            let of_line = format!("of tasks spawned at {location}: {time_of}");
            if polls == *polls_of {
                return format!(" behind {polls} polls {of_line}");
            }
            return format!(" behind {polls} polls ({all}), {polls_of} of them {of_line}");
        }
        format!(" behind {polls} polls ({all}), the longest of {longest}: {longest_time}")
    }

    /// The poll that took the most of some time on the workers of a task's runtime, for a sentence.
    pub(crate) fn culprit(&self, from: u64, to: u64, task: u64) -> Option<String> {
        let behind = self.behind(from, to, &self.takers(task, Place::Injector, None), 0);
        let (task, took) = behind.longest?;
        Some(format!("a poll of {}, which took {} of it", self.label(task), time(took)))
    }
}
