use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gpu_run_bytecode::Program;
use gpu_run_vm::cuda::cache::Cache;
use gpu_run_vm::cuda::code::{Code, CompileRequest, Origin};
use gpu_run_vm::ptx::Blocks;
use gpu_run_vm::{CodeFormat, Next, Tier};
use wast::Wat;
use wast::parser::{self, ParseBuffer};

use super::{ATTEMPTS, Later, Learner, Marks, Phase, Wanted, first_blocks};
use crate::embed::compile;
use crate::embed::profile::{self, Counts, OFTEN};

const AFTER: Duration = Duration::from_secs(100);

/// A function with some blocks.
fn program() -> Arc<Program> {
    let wat = r#"(module (func (export "f") (param i32) (result i32) (local i32)
      (loop $again
        (if (i32.and (local.get 0) (i32.const 1)) (then (local.set 1 (i32.add (local.get 1) (i32.const 3)))))
        (if (i32.and (local.get 0) (i32.const 2)) (then (local.set 1 (i32.mul (local.get 1) (i32.const 5)))))
        (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
      (local.get 1)))"#;
    let buffer = ParseBuffer::new(wat).unwrap();
    let wasm = parser::parse::<Wat<'_>>(&buffer).unwrap().encode().unwrap();
    Arc::new(
        gpu_run_translator::translate(&wasm, &Default::default())
            .unwrap()
            .program,
    )
}

fn request(program: &Arc<Program>, cold: BTreeSet<u32>) -> CompileRequest {
    CompileRequest {
        program: program.clone(),
        entries: vec![0],
        cold,
        ..compile::tests::request(CodeFormat::Ptx)
    }
}

fn often(blocks: &[u32]) -> Counts {
    blocks.iter().map(|block| (*block, OFTEN)).collect()
}

/// What is known of the program, and its blocks.
struct Known {
    program: Arc<Program>,
    blocks: Arc<Blocks>,
    cache: Cache,
    _folder: tempfile::TempDir,
}

impl Known {
    fn of(counts: impl FnOnce(&[u32]) -> Counts) -> Known {
        let folder = tempfile::tempdir().unwrap();
        let (program, cache) = (program(), Cache::new(folder.path(), 1 << 20));
        let blocks = Arc::new(Blocks::of(&program));
        let all: Vec<u32> = blocks.all().collect();
        assert!(all.len() > 5, "{all:?}");
        profile::add(&cache, &program, counts(&all)).unwrap();
        Known {
            program,
            blocks,
            cache,
            _folder: folder,
        }
    }

    fn all(&self) -> Vec<u32> {
        self.blocks.all().collect()
    }

    fn learns(&self) -> Box<Learner> {
        let request = request(&self.program, BTreeSet::new());
        let later = Later::learns(request, self.blocks.clone(), Some(self.cache.clone()), AFTER);
        let Later::Learns(learner) = later else {
            unreachable!("it learns")
        };
        learner
    }

    /// In code for the first `many` blocks.
    fn improves(&self, many: usize) -> Box<Learner> {
        let mut cold: BTreeSet<u32> = self.all().split_off(many).into_iter().collect();
        cold.extend(first_blocks(&self.program, &[0]));
        let code = Code {
            prefix: "i0_".into(),
            entries: vec![0],
            cubin: Arc::default(),
            needs_stack: false,
            mixed: true,
            deep_calls: false,
            fixed_memory: false,
            aligned_memory: false,
            origin: Origin::Cache,
        };
        let (request, blocks) = (request(&self.program, cold), self.blocks.clone());
        let Later::Learns(learner) = Later::improves(&code, request, blocks, Some(self.cache.clone()), AFTER) else {
            unreachable!("it learns")
        };
        learner
    }
}

#[test]
fn what_is_known_of_runs_before_is_compiled_as_it_is() {
    let known = Known::of(|all| often(&all[..3]));
    let all = known.all();
    let mut learner = known.learns();
    assert!(learner.knows_before());
    // What this run does besides changes nothing, yet.
    assert!(matches!(learner.go_on(Some(often(&all)), Instant::now()), Next::Same));
    assert_eq!(learner.work[0].1.hot, all[..3].iter().copied().collect());
    // Then it is compiled too, and not noted any more.
    let Next::Noted(but) = learner.go_on(Some(often(&all)), Instant::now()) else {
        panic!("others are to be noted")
    };
    assert_eq!(*but, all.iter().copied().collect());
    assert_eq!(learner.work[1].1.hot, *but);
}

#[test]
fn the_times_of_short_runs_add_up() {
    let known = Known::of(|all| often(&all[..3]));
    let mut learner = known.learns();
    let now = Instant::now();
    learner.marks = Marks::Others;
    learner.phase = Phase::Rests(now + AFTER);
    learner.asked = now + AFTER - Duration::from_secs(1);
    learner.begin(false);
    let Phase::Rests(until) = learner.phase else {
        panic!("it rests")
    };
    assert!(until < now + Duration::from_secs(50));
}

#[test]
fn code_that_was_refused_is_not_wanted_again() {
    let known = Known::of(|all| often(&all[..3]));
    let mut learner = known.improves(3);
    learner.begin(true);
    assert!(learner.in_code);
    learner.wanted = Wanted::Code;
    learner.went_on(false);
    assert!(learner.marks == Marks::None && learner.code.is_none() && learner.attempts == ATTEMPTS);
    learner.begin(true);
    assert!(!learner.in_code && matches!(learner.phase, Phase::Over));
}

#[test]
fn code_is_outdated_if_much_else_runs_often() {
    // First blocks are never compiled, and not missing.
    let known = Known::of(|all| often(&all[..3]));
    assert!(!known.improves(3).is_outdated);
    assert_eq!(known.improves(3).code.unwrap().1.counts, often(&known.all()[..3]));
    let known = Known::of(often);
    assert!(known.improves(3).is_outdated);
}

#[test]
fn a_run_that_ends_before_it_is_parked_leaves_the_code_new() {
    let known = Known::of(|all| often(&all[..3]));
    let mut learner = known.improves(3);
    (learner.is_new, learner.enters, learner.marks) = (true, true, Marks::Others);
    assert!(matches!(
        learner.go_on(Some(Counts::new()), Instant::now()),
        Next::Code(_)
    ));
    learner.begin(false);
    assert!(learner.is_new);
    learner.wanted = Wanted::Code;
    learner.went_on(true);
    assert!(!learner.is_new && learner.in_code && learner.found.is_some());
}
