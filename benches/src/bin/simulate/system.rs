//! What all policies live in: the kernel's events, the load, and what is measured.

use crate::cell::{Cell, Load, Polls};
use crate::costs::Costs;
use crate::machine::{Happening, Machine, Nanos, Step};
use std::collections::VecDeque;

/// How often a monitor looks, if the policy has one.
const TICK: Nanos = 1_000_000;

/// How long a thread of the client needs for a request.
const CLIENT_COST: Nanos = 4_000;

/// One request: one event of the kernel, and one poll.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// When it was sent, or was to be.
    due: Nanos,
    /// How long its poll takes.
    pub takes: Nanos,
    /// Of a closed loop.
    connection: usize,
}

/// Workers, by whatever rules.
pub trait Policy {
    /// What a worker does next: it is awake, and has done what it was told before.
    fn step(&mut self, worker: usize, system: &mut System) -> Step;

    /// The monitor looks.
    fn tick(&mut self, _: &mut System) {}

    /// Requests that were taken from the kernel and not answered.
    fn held(&self) -> usize;
}

/// What came of a cell, of the requests after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// The mean latency, in microseconds.
    pub mean: f64,
    /// What 1 % of the requests exceed.
    pub p99: f64,
    /// Answers per second.
    pub per_second: f64,
    /// CPU of the workers per request, in microseconds.
    pub cpu: f64,
    /// How many sleeping workers other workers woke, per request.
    pub wakes: f64,
}

/// A thread of the client: the connections that have their answers, the first of which it serves.
#[derive(Clone, Default)]
struct Client {
    answers: VecDeque<usize>,
    is_busy: bool,
}

/// The system.
pub struct System {
    machine: Machine,
    /// What everything costs.
    pub costs: Costs,
    /// For thieves.
    pub random: fastrand::Rng,
    /// For the load: every policy gets the same requests.
    load_random: fastrand::Rng,
    workers: usize,
    polls: Polls,
    /// The mean gap of an open loop.
    gap: Option<f64>,
    next_due: f64,
    clients: Vec<Client>,
    /// The events that the kernel has.
    pub ready: VecDeque<Request>,
    /// The workers that sleep until there are events.
    pub waiters: Vec<usize>,

    sent: u64,
    done: u64,
    warm_up: u64,
    latencies: Vec<Nanos>,
    began: Nanos,
    cpu_before: Nanos,
    pub monitor_cpu: Nanos,
    wakes: u64,
}

/// Runs a cell until it has so many answers, the first tenth of which does not count.
pub fn run(cell: &Cell, costs: Costs, seed: u64, mut policy: impl Policy) -> Figures {
    let mut system = System::new(cell, costs, seed);
    while system.done < system.warm_up + cell.requests {
        match system.machine.advance() {
            Happening::Asks(thread) => {
                let client = thread.checked_sub(system.workers);
                let step = match client {
                    None => policy.step(thread, &mut system),
                    Some(client) => system.client_step(client),
                };
                system.machine.take(thread, step);
            }
            Happening::Tick => {
                policy.tick(&mut system);
                system.machine.set(TICK, Happening::Tick);
            }
            Happening::Arrival => {
                system.send(0);
                system.set_arrival();
            }
        }
    }
    let present = system.ready.len() + policy.held();
    assert_eq!(system.sent - system.done, present as u64, "requests were lost or doubled");
    system.figures()
}

impl System {
    fn new(cell: &Cell, costs: Costs, seed: u64) -> Self {
        let mut system = Self {
            machine: Machine::new(cell.workers + cell.clients()),
            costs,
            random: fastrand::Rng::with_seed(seed ^ 1),
            load_random: fastrand::Rng::with_seed(seed),
            workers: cell.workers,
            polls: cell.polls,
            gap: cell.gap(),
            next_due: 0.0,
            clients: vec![Client::default(); cell.clients()],
            ready: VecDeque::new(),
            waiters: Vec::new(),
            sent: 0,
            done: 0,
            warm_up: cell.requests / 9,
            latencies: Vec::new(),
            began: 0,
            cpu_before: 0,
            monitor_cpu: 0,
            wakes: 0,
        };
        for worker in 0..system.workers {
            system.machine.wake(worker, 0);
        }
        system.machine.set(TICK, Happening::Tick);
        match cell.load {
            Load::Open(_) => system.set_arrival(),
            Load::Closed(connections) => {
                for connection in 0..connections {
                    system.give_to_client(connection);
                }
            }
        }
        system
    }

    /// The time.
    pub fn now(&self) -> Nanos {
        self.machine.now
    }

    /// A worker wakes another one; gives what that costs it.
    pub fn wake(&mut self, worker: usize) -> Nanos {
        self.wakes += 1;
        self.waiters.retain(|&waiter| waiter != worker);
        self.machine.wake(worker, self.costs.delay);
        self.costs.wake
    }

    /// A poll has ended.
    pub fn answer(&mut self, request: Request) {
        self.done += 1;
        if self.done == self.warm_up {
            self.began = self.now();
            self.cpu_before = self.worker_cpu();
            self.wakes = 0;
        } else if self.done > self.warm_up {
            self.latencies.push(self.now() - request.due);
        }
        if self.gap.is_none() {
            self.give_to_client(request.connection);
        }
    }

    fn give_to_client(&mut self, connection: usize) {
        let client = connection % self.clients.len();
        self.clients[client].answers.push_back(connection);
        self.machine.wake(self.workers + client, self.costs.delay);
    }

    fn client_step(&mut self, index: usize) -> Step {
        if self.clients[index].is_busy {
            let connection = self.clients[index].answers.pop_front();
            self.send(connection.expect("it was there"));
        }
        let client = &mut self.clients[index];
        client.is_busy = !client.answers.is_empty();
        if client.is_busy { Step::Run(CLIENT_COST) } else { Step::Sleep(0) }
    }

    fn set_arrival(&mut self) {
        let gap = self.gap.expect("an open loop");
        self.next_due -= gap * (1.0 - self.load_random.f64()).ln();
        let after = (self.next_due as Nanos).saturating_sub(self.now());
        self.machine.set(after, Happening::Arrival);
    }

    fn send(&mut self, connection: usize) {
        let takes = self.polls.sample(&mut self.load_random);
        self.ready.push_back(Request { due: self.now(), takes, connection });
        self.sent += 1;
        if let Some(worker) = self.waiters.pop() {
            self.machine.wake(worker, self.costs.delay);
        }
    }

    fn worker_cpu(&self) -> Nanos {
        self.machine.used(self.workers) + self.monitor_cpu
    }

    fn figures(mut self) -> Figures {
        self.latencies.sort_unstable();
        let count = self.latencies.len();
        let p99 = self.latencies[(count as f64 * 0.99).ceil() as usize - 1];
        let time = (self.now() - self.began).max(1) as f64;
        let per_request = |value: f64| value / count as f64;
        Figures {
            mean: per_request(self.latencies.iter().sum::<Nanos>() as f64) / 1e3,
            p99: p99 as f64 / 1e3,
            per_second: count as f64 / time * 1e9,
            cpu: per_request((self.worker_cpu() - self.cpu_before) as f64) / 1e3,
            wakes: per_request(self.wakes as f64),
        }
    }
}
