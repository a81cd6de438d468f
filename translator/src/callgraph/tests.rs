use super::*;

fn graph(wat: &str) -> CallGraph {
    let bytes = wat::parse_str(wat).expect("test input");
    CallGraph::new(&Module::parse(&bytes).expect("a valid module"))
}

#[test]
fn direct_recursion_and_depth() {
    let g = graph(
        r#"(module (import "e" "f" (func)) ;; 0
            (func call 2 call 2) (func call 0) (func call 4 call 3) (func call 3 call 1)
            (func (export "x") call 1 call 5))"#,
    );
    let mut recursive = g.recursive_components();
    recursive.sort();
    assert_eq!(recursive, [vec![3, 4], vec![5]]);
    assert_eq!(g.max_depths()[1], Some(2));
    assert_eq!(g.max_depths()[3], None);
    assert_eq!(g.max_depths()[0], Some(0));
    assert_eq!(g.call_sites(2), 2);
    assert!(g.is_leaf(0) && !g.is_leaf(2));
    assert_eq!(g.roots(), [5]);
    assert_eq!(g.reachable([5]), [true, true, true, false, false, true]);
    let order: Vec<u32> = g.bottom_up().collect();
    let at = |f: u32| order.iter().position(|&o| o == f).expect("every function");
    assert!(at(0) < at(2) && at(2) < at(1) && at(1) < at(3) && at(1) < at(5));
}

#[test]
fn indirect_calls_reach_equal_types_only() {
    let g = graph(
        "(module (type $a (func)) (type $b (func)) (type $c (func (param i32)))
            (table 4 funcref) (elem (i32.const 0) $back $other)
            (func $top (type $a) (call_indirect (type $b) (i32.const 0)))
            (func $back (type $a) (call $top))
            (func $other (type $c))
            (func $free (type $a)))",
    );
    assert_eq!(g.recursive_components(), [vec![0, 1]]);
    assert_eq!(g.callees(0).collect::<Vec<_>>(), [1]);
    assert!(g.is_address_taken(2) && !g.is_address_taken(3));
    assert!(g.calls_indirectly(0) && !g.calls_indirectly(1));
    assert_eq!(g.max_depths()[2], Some(1));
}

#[test]
fn long_chains_and_wide_tables_are_linear() {
    // 50,000 functions in one chain, each with an indirect call that may reach each of them.
    let n = 50_000;
    let mut wat = String::from("(module (table 50000 funcref) (elem (i32.const 0) ");
    (0..n).for_each(|i| wat.push_str(&format!("{i} ")));
    wat.push(')');
    for i in 0..n {
        let callee = (i + 1).min(n - 1);
        wat.push_str(&format!("(func (call_indirect (i32.const 0)) call {callee})"));
    }
    wat.push(')');
    let g = graph(&wat);
    assert_eq!(g.recursive_components().len(), 1);
    assert_eq!(g.max_depths()[0], None);
}

/// The first cycle that the exports reach, with its functions' names.
fn cycle(wat: &str) -> Option<String> {
    let bytes = wat::parse_str(wat).expect("test input");
    let module = Module::parse(&bytes).expect("a valid module");
    let cycle = CallGraph::new(&module).reachable_cycle(&module)?;
    Some(cycle.display(&module))
}

#[test]
fn cycles_are_told_by_name() {
    let direct = r#"(module (func $a (export "a") call $b) (func $b call $c call $d)
        (func $c call $d) (func $d call $b))"#;
    assert_eq!(cycle(direct).as_deref(), Some("b -> d -> b"), "a shortest one");
    let own = r#"(module (func $a (export "a") call $b) (func $b call $b))"#;
    assert_eq!(cycle(own).as_deref(), Some("b -> b"));
    let started = "(module (start $a) (func $a call $b) (func $b call $b))";
    assert_eq!(cycle(started).as_deref(), Some("b -> b"));
    let indirect = r#"(module (table 1 funcref) (elem (i32.const 0) $b)
        (func $a (export "a") (call_indirect (i32.const 0))) (func $b (call $c)) (func $c (call $a)))"#;
    assert_eq!(cycle(indirect).as_deref(), Some("a -> (indirect) b -> c -> a"));
    let itself = r#"(module (table 1 funcref) (elem (i32.const 0) $a)
        (func $a (export "a") (call_indirect (i32.const 0))))"#;
    assert_eq!(cycle(itself).as_deref(), Some("a -> (indirect) a"));
}

#[test]
fn recursion_that_nothing_reaches_is_none() {
    assert_eq!(cycle(r#"(module (func $a (export "a")) (func $b call $b))"#), None);
    // In a table, but no indirect call is there.
    let tabled = r#"(module (table 1 funcref) (elem (i32.const 0) $b) (func $a (export "a")) (func $b call $b))"#;
    assert_eq!(cycle(tabled), None);
    // Calls whose types no function in the table has.
    let typed = r#"(module (type $t (func (param i32))) (table 1 funcref) (elem (i32.const 0) $a)
        (func $a (export "a") (call_indirect (type $t) (i32.const 1) (i32.const 0))))"#;
    assert_eq!(cycle(typed), None);
}

#[test]
fn the_largest_sum_is_of_a_path() {
    let g = graph("(module (func call 1 call 2) (func) (func call 3) (func))");
    let sizes = [1, 10, 3, 4];
    assert_eq!(g.max_sums(|func| sizes[func as usize])[0], Some(11));
    assert_eq!(g.max_depths()[0], Some(3));
}
