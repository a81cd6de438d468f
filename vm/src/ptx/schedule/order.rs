//! An order for the steps of a straight piece of code in which few values are live at once.
//!
//! Bottom-up list scheduling for register pressure, with a look-ahead, as compilers have it before register allocation.
//! See Goodman and Hsu, "Code Scheduling and Register Allocation in Large Basic Blocks", 1988. Steps are placed from
//! the end on. The next one is that from which the fewest values become live until there are no more than before. What
//! one step begins is so finished before another is begun, also where it takes twenty steps until that pays.

use std::cmp::Reverse;

/// A value that is made or read.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// Units of 4 bytes that it takes.
    pub units: u32,
    /// Whether it is read after the code.
    pub lives_on: bool,
}

/// An instruction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// The values that it reads, each once.
    pub reads: Vec<usize>,
    /// The value that it makes.
    pub makes: Option<usize>,
    /// Steps that must come before it, each once: those that make what it reads, and others.
    pub after: Vec<usize>,
}

/// Straight code.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// All values. Those that no step makes are there before the code.
    pub values: Vec<Value>,
    /// The steps in an order that is possible.
    pub steps: Vec<Step>,
}

/// Steps that a look ahead goes at most.
const MOST_AHEAD: usize = 64;
/// Steps that may be placed next which a look ahead tries, at most.
const MOST_TRIED: usize = 32;
/// Steps that are looked at for one order, at most. With random graphs that took 0.05 to 0.2 s on one core.
const MOST_LOOKS: usize = 1 << 22;
/// Steps in a graph of which a copy of a walk takes as long as a look at one.
const STEPS_PER_LOOK: usize = 16;

/// A walk through a graph from its end.
#[derive(Clone)]
struct Walk {
    /// Of each value that is live where the walk is: 1 and the place, from the end, of the step that read it last.
    live: Vec<usize>,
    /// Units that are live.
    units: u32,
    /// Of each step: how many are still to be placed after it.
    left: Vec<usize>,
    /// Steps that can be placed.
    ready: Vec<usize>,
    /// How many were placed.
    count: usize,
}

impl Walk {
    fn new(graph: &Graph) -> Walk {
        let mut left = vec![0; graph.steps.len()];
        for before in graph.steps.iter().flat_map(|step| &step.after) {
            left[*before] += 1;
        }
        let lives_on = |value: &Value| usize::from(value.lives_on);
        Walk {
            live: graph.values.iter().map(lives_on).collect(),
            units: graph
                .values
                .iter()
                .filter(|value| value.lives_on)
                .map(|value| value.units)
                .sum(),
            ready: (0..left.len()).filter(|step| left[*step] == 0).collect(),
            left,
            count: 0,
        }
    }

    /// Units that are live more if a step is placed.
    fn change(&self, graph: &Graph, step: usize) -> i64 {
        let step = &graph.steps[step];
        let units = |value: &usize| i64::from(graph.values[*value].units);
        let begun: i64 = step
            .reads
            .iter()
            .filter(|value| self.live[**value] == 0)
            .map(units)
            .sum();
        let ended = step.makes.filter(|value| self.live[*value] != 0);
        begun - ended.iter().map(units).sum::<i64>()
    }

    /// Places a step before all that were placed. Returns the units that are live at most on the way.
    fn place(&mut self, graph: &Graph, step: usize) -> u32 {
        self.count += 1;
        self.ready.retain(|ready| *ready != step);
        let mut most = self.units;
        let step = &graph.steps[step];
        if let Some(value) = step.makes {
            let units = graph.values[value].units;
            match std::mem::take(&mut self.live[value]) {
                0 => most += units,
                _ => self.units -= units,
            }
        }
        for value in &step.reads {
            if self.live[*value] == 0 {
                self.units += graph.values[*value].units;
            }
            self.live[*value] = 1 + self.count;
        }
        for before in &step.after {
            self.left[*before] -= 1;
            if self.left[*before] == 0 {
                self.ready.push(*before);
            }
        }
        most.max(self.units)
    }

    /// Places `step` and what follows best, until no more is live than before. Returns the steps and the most units
    /// that were live; nothing if these are more than `most`.
    fn ahead(mut self, graph: &Graph, step: usize, most: u32, looks: &mut usize) -> Option<Ahead> {
        let (before, begin) = (self.units, self.count);
        let mut ahead = Ahead {
            most: 0,
            after: 0,
            steps: Vec::new(),
        };
        let mut next = Some(step);
        while let Some(step) = next {
            ahead.most = ahead.most.max(self.place(graph, step));
            ahead.steps.push(step);
            if ahead.most > most {
                return None;
            }
            if self.units <= before || ahead.steps.len() == MOST_AHEAD {
                break;
            }
            *looks += self.ready.len();
            // What makes the value that was read last, of those read since, so that what was begun is finished.
            let key = |step: &usize| {
                let read = graph.steps[*step].makes.map_or(0, |value| self.live[value]);
                (-self.change(graph, *step), read.saturating_sub(begin + 1), *step)
            };
            next = self.ready.iter().copied().max_by_key(key);
        }
        ahead.after = self.units;
        Some(ahead)
    }
}

/// What a look ahead found.
struct Ahead {
    most: u32,
    after: u32,
    steps: Vec<usize>,
}

impl Graph {
    /// Units that are live at once at most, if the steps stand in this order.
    pub fn most_live(&self, order: &[usize]) -> u32 {
        let mut walk = Walk::new(self);
        let places = order.iter().rev().map(|step| walk.place(self, *step));
        places.max().unwrap_or(0)
    }

    /// An order in which few units are live at once; `None` if it would take too long to find one.
    pub fn order(&self) -> Option<Vec<usize>> {
        let (mut walk, mut looks) = (Walk::new(self), 0);
        let mut order = Vec::new();
        while !walk.ready.is_empty() {
            let mut ready = walk.ready.clone();
            if ready.len() > MOST_TRIED {
                ready.sort_by_key(|step| (walk.change(self, *step), Reverse(*step)));
                ready.truncate(MOST_TRIED);
            }
            // As in the code itself where there is no difference.
            ready.sort_by_key(|step| Reverse(*step));
            let mut best: Option<Ahead> = None;
            for step in ready {
                looks += 1 + self.steps.len() / STEPS_PER_LOOK;
                let most = best.as_ref().map_or(u32::MAX, |best| best.most);
                let Some(ahead) = walk.clone().ahead(self, step, most, &mut looks) else {
                    continue;
                };
                let key = |ahead: &Ahead| (ahead.most, ahead.after, ahead.steps.len());
                if best.as_ref().is_none_or(|best| key(&ahead) < key(best)) {
                    best = Some(ahead);
                }
            }
            for step in best?.steps {
                walk.place(self, step);
                order.push(step);
            }
            if looks > MOST_LOOKS {
                return None;
            }
        }
        order.reverse();
        Some(order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A graph of steps that read and make these values, of one unit each; the last value lives on.
    fn graph(steps: &[(&[usize], usize)]) -> Graph {
        let made_by = |value: &usize| steps.iter().position(|(_, makes)| makes == value);
        let count = 1 + steps.iter().map(|(_, makes)| *makes).max().unwrap_or(0);
        let step = |(reads, makes): &(&[usize], usize)| Step {
            reads: reads.to_vec(),
            makes: Some(*makes),
            after: reads.iter().filter_map(made_by).collect(),
        };
        let value = |value: usize| Value {
            units: 1,
            lives_on: value + 1 == count,
        };
        Graph {
            values: (0..count).map(value).collect(),
            steps: steps.iter().map(step).collect(),
        }
    }

    fn is_possible(graph: &Graph, order: &[usize]) -> bool {
        let place = |step: usize| order.iter().position(|other| *other == step);
        let holds = |step: usize| {
            graph.steps[step]
                .after
                .iter()
                .all(|before| place(*before) < place(step))
        };
        order.len() == graph.steps.len() && (0..order.len()).all(|step| place(step).is_some() && holds(step))
    }

    #[test]
    fn a_sum_of_values_that_were_all_made_first_takes_them_one_by_one() {
        // 0..8 from nothing, then 8 = 0 + 1, 9 = 8 + 2, …
        let reads: Vec<Vec<usize>> = (0..15)
            .map(|value| match value {
                0..8 => vec![],
                8 => vec![0, 1],
                _ => vec![value - 1, value - 7],
            })
            .collect();
        let steps: Vec<(&[usize], usize)> = reads
            .iter()
            .zip(0..)
            .map(|(reads, makes)| (&reads[..], makes))
            .collect();
        let graph = graph(&steps);
        let source: Vec<usize> = (0..15).collect();
        assert_eq!(graph.most_live(&source), 8);
        let order = graph.order().unwrap();
        assert!(is_possible(&graph, &order), "{order:?}");
        assert_eq!(graph.most_live(&order), 2, "{order:?}");
    }

    /// Four pairs, each a difference and a product that two sums each take up. As LLVM writes it, all of one sum come
    /// first, so that the other four wait.
    #[test]
    fn what_is_begun_is_finished_although_that_pays_late() {
        let mut steps: Vec<(Vec<usize>, usize)> = Vec::new();
        // Values 0..4 are there. Pair i: 4+i = difference, 8+i = product; sums 12.. and 16..; 20 takes both.
        for i in 0..4 {
            steps.push((vec![i], 4 + i));
            steps.push((vec![4 + i], 8 + i));
            let before = if i == 0 { vec![] } else { vec![11 + i] };
            steps.push(([vec![8 + i], before].concat(), 12 + i));
        }
        for i in 0..4 {
            let before = if i == 0 { vec![] } else { vec![15 + i] };
            steps.push(([vec![4 + i, 8 + i], before].concat(), 16 + i));
        }
        steps.push((vec![15, 19], 20));
        let steps: Vec<(&[usize], usize)> = steps.iter().map(|(reads, makes)| (&reads[..], *makes)).collect();
        let graph = graph(&steps);
        let source: Vec<usize> = (0..steps.len()).collect();
        let order = graph.order().unwrap();
        assert!(is_possible(&graph, &order), "{order:?}");
        assert!(graph.most_live(&source) >= 9);
        assert!(graph.most_live(&order) <= 6, "{order:?}: {}", graph.most_live(&order));
    }

    #[test]
    fn steps_that_must_keep_their_order_do() {
        // Six of which each reads a value that is there, and must follow the one before it.
        let step = |i: usize| Step {
            reads: vec![i],
            makes: None,
            after: i.checked_sub(1).into_iter().collect(),
        };
        let value = Value {
            units: 2,
            lives_on: false,
        };
        let graph = Graph {
            values: vec![value; 6],
            steps: (0..6).map(step).collect(),
        };
        assert_eq!(graph.order(), Some((0..6).collect()));
        assert_eq!(graph.most_live(&[0, 1, 2, 3, 4, 5]), 12);
    }
}
