//! A line of tasks that wait, in the order in which they came.

use slab::Slab;
use std::task::Waker;

/// The number of places that a line without tasks keeps at most. The rest of its memory is freed.
const KEPT_PLACES: usize = 64;

/// A line of tasks, each of which wants a number of permits. A task that was served keeps its
/// place until it comes to know of it.
///
/// Joining, serving and leaving take constant time: a place knows the places before and behind
/// it. The line runs no foreign code: it returns the wakers that are no longer needed.
pub(super) struct Line {
    places: Slab<Place>,
    first: Option<usize>,
    last: Option<usize>,
}

enum Place {
    Waits { wants: usize, waker: Waker, before: Option<usize>, behind: Option<usize> },
    Served,
    Dismissed,
}

/// What was at a place that was given up.
pub(super) enum Left {
    /// The task waited. Its waker is returned, to be dropped without a lock.
    Waited(Waker),
    /// The task was served.
    Served,
    /// The task was sent away with nothing.
    Dismissed,
}

impl Line {
    pub(super) const fn new() -> Self {
        Self { places: Slab::new(), first: None, last: None }
    }

    /// Returns whether nobody waits. Tasks that were served no longer do.
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Puts a task at the end of the line, and returns its place.
    pub(super) fn join(&mut self, wants: usize, waker: Waker) -> usize {
        let before = self.last;
        let place = self.places.insert(Place::Waits { wants, waker, before, behind: None });
        self.set_behind(before, Some(place));
        self.last = Some(place);
        place
    }

    /// Returns how many permits the first in line wants.
    pub(super) fn wanted(&self) -> Option<usize> {
        match self.places[self.first?] {
            Place::Waits { wants, .. } => Some(wants),
            Place::Served | Place::Dismissed => unreachable!("the first in line waits"),
        }
    }

    /// Serves the first in line.
    pub(super) fn serve(&mut self) -> Option<Waker> {
        self.replace_first(Place::Served)
    }

    /// Sends the first in line away with nothing.
    pub(super) fn dismiss(&mut self) -> Option<Waker> {
        self.replace_first(Place::Dismissed)
    }

    fn replace_first(&mut self, new: Place) -> Option<Waker> {
        let place = std::mem::replace(&mut self.places[self.first?], new);
        match self.unlink(place) {
            Left::Waited(waker) => Some(waker),
            Left::Served | Left::Dismissed => unreachable!("the first in line waits"),
        }
    }

    /// Returns whether the task at this place was neither served nor dismissed.
    pub(super) fn waits(&self, place: usize) -> bool {
        matches!(self.places[place], Place::Waits { .. })
    }

    /// Exchanges the waker of a task that waits. Returns false if it does not.
    pub(super) fn exchange_waker(&mut self, place: usize, new: &mut Waker) -> bool {
        let Place::Waits { waker, .. } = &mut self.places[place] else {
            return false;
        };
        std::mem::swap(waker, new);
        true
    }

    /// Gives up a place.
    pub(super) fn leave(&mut self, place: usize) -> Left {
        let place = self.places.remove(place);
        if self.places.is_empty() && self.places.capacity() > KEPT_PLACES {
            self.places = Slab::new();
        }
        self.unlink(place)
    }

    /// Takes a task out of the line, if it waits.
    fn unlink(&mut self, place: Place) -> Left {
        match place {
            Place::Served => Left::Served,
            Place::Dismissed => Left::Dismissed,
            Place::Waits { waker, before, behind, .. } => {
                self.set_behind(before, behind);
                self.set_before(behind, before);
                Left::Waited(waker)
            }
        }
    }

    /// Says who is behind a place, or who is the first in line.
    fn set_behind(&mut self, place: Option<usize>, new: Option<usize>) {
        match place.map(|place| &mut self.places[place]) {
            Some(Place::Waits { behind, .. }) => *behind = new,
            Some(Place::Served | Place::Dismissed) => unreachable!("a neighbour waits"),
            None => self.first = new,
        }
    }

    /// Says who is before a place, or who is the last in line.
    fn set_before(&mut self, place: Option<usize>, new: Option<usize>) {
        match place.map(|place| &mut self.places[place]) {
            Some(Place::Waits { before, .. }) => *before = new,
            Some(Place::Served | Place::Dismissed) => unreachable!("a neighbour waits"),
            None => self.last = new,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Clone, Debug)]
    enum Step {
        Join,
        Serve,
        Leave(prop::sample::Index),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            3 => Just(Step::Join),
            2 => Just(Step::Serve),
            2 => any::<prop::sample::Index>().prop_map(Step::Leave),
        ];
        prop::collection::vec(step, 0..100)
    }

    proptest! {
        /// The model is a map from the number of each task to its place, and whether it waits.
        #[test]
        fn a_line_keeps_its_order(steps in steps()) {
            let (mut line, mut model) = (Line::new(), BTreeMap::new());
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Join => {
                        let place = line.join(number, Waker::noop().clone());
                        model.insert(number, (place, true));
                    }
                    Step::Serve => {
                        let first = model.values_mut().find(|(_, waits)| *waits);
                        prop_assert_eq!(line.serve().is_some(), first.is_some());
                        if let Some((place, waits)) = first {
                            *waits = false;
                            prop_assert!(!line.waits(*place));
                        }
                    }
                    Step::Leave(index) if !model.is_empty() => {
                        let number = *index.get(&model.keys().copied().collect::<Vec<_>>());
                        let (place, waits) = model.remove(&number).expect("it is a key");
                        prop_assert_eq!(line.waits(place), waits);
                        prop_assert_eq!(matches!(line.leave(place), Left::Waited(_)), waits);
                    }
                    Step::Leave(_) => {}
                }
                let first = model.iter().find(|(_, (_, waits))| *waits);
                prop_assert_eq!(line.wanted(), first.map(|(number, _)| *number));
                prop_assert_eq!(line.is_empty(), first.is_none());
            }
        }
    }

    #[test]
    fn what_many_places_took_is_given_back() {
        let mut line = Line::new();
        let places: Vec<_> = (0..1000).map(|_| line.join(1, Waker::noop().clone())).collect();
        assert!(line.places.capacity() >= 1000);
        places.into_iter().for_each(|place| drop(line.leave(place)));
        assert!(line.places.capacity() <= KEPT_PLACES);
    }
}
