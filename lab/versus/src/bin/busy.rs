//! Keeps one core busy for ever: other work beside a measurement.

fn main() {
    versus::options::prepare(true);
    loop {
        std::hint::spin_loop();
    }
}
