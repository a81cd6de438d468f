;; Legacy exception handling: try, catch, catch_all, delegate, rethrow.

;; try and catch
(module
  (tag $none)
  (tag $one (param i32))
  (tag $two (param i64 i32))
  (global $steps (mut i32) (i32.const 0))

  ;; 0: returns; 1, 2, 3: throws; 4: traps.
  (func $act (param $what i32)
    block $trap
      block $two
        block $one
          block $none
            block $quiet
              local.get $what
              br_table $quiet $none $one $two $trap
            end
            return
          end
          throw $none
        end
        i32.const 11
        throw $one
      end
      i64.const 20
      i32.const 2
      throw $two
    end
    unreachable)

  (func (export "choose") (param i32) (result i32)
    try (result i32)
      local.get 0
      call $act
      i32.const 100
    catch $none
      i32.const 101
    catch $one
      i32.const 1000
      i32.add
    catch $two
      local.set 0
      i32.wrap_i64
      local.get 0
      i32.add
    end)

  (func (export "some") (param i32) (result i32)
    try (result i32)
      local.get 0
      call $act
      i32.const 100
    catch $one
    end)

  (func (export "rest") (param i32) (result i32)
    try (result i32)
      local.get 0
      call $act
      i32.const 100
    catch $one
    catch_all
      i32.const -1
    end)

  ;; A try without handlers catches nothing.
  (func (export "bare") (param i32) (result i32)
    try (result i32)
      local.get 0
      call $act
      i32.const 100
    end)

  ;; The first handler that fits is taken.
  (func (export "first") (result i32)
    try (result i32)
      i32.const 5
      throw $one
    catch $one
    catch $one
      i32.const 1
      i32.add
    end)

  ;; Parameters and several results.
  (func (export "values") (param i32) (result i32)
    i32.const 7
    i64.const 8
    try (param i32 i64) (result i64 i32)
      local.get 0
      call $act
      i32.wrap_i64
      i32.add
      i64.extend_i32_u
      i32.const 3
    catch $two
    catch_all
      i64.const 1
      i32.const 1
    end
    local.set 0
    i32.wrap_i64
    local.get 0
    i32.sub)

  ;; What the body has computed by then is gone, locals keep their values.
  (func (export "locals") (param i32) (result i32) (local $seen i32)
    try
      i32.const 1
      local.set $seen
      local.get 0
      call $act
      i32.const 2
      local.set $seen
    catch_all
      local.get $seen
      i32.const 10
      i32.add
      local.set $seen
    end
    local.get $seen)

  ;; An exception of a handler is not for the other handlers of the same try.
  (func (export "in-handler") (result i32)
    try (result i32)
      try (result i32)
        throw $none
      catch $none
        i32.const 6
        throw $one
      catch $one
        drop
        i32.const 1
      catch_all
        i32.const 2
      end
    catch $one
    end)

  (func (export "within-handler") (param i32) (result i32)
    try (result i32)
      throw $none
    catch $none
      try (result i32)
        local.get 0
        call $act
        i32.const 40
      catch $one
        i32.const 30
        i32.add
      catch_all
        i32.const 42
      end
      i32.const 1
      i32.add
    end)

  (func (export "nested") (param i32) (result i32)
    try (result i32)
      try (result i32)
        try (result i32)
          local.get 0
          call $act
          i32.const 0
        catch $none
          i32.const 1
        end
      catch $two
        drop
        drop
        i32.const 3
      end
    catch_all
      i32.const 2
    end)

  ;; Deep calls between throw and catch.
  (func $deep (param i32) (result i32)
    local.get 0
    i32.eqz
    if
      i32.const 77
      throw $one
    end
    local.get 0
    i32.const 1
    i32.sub
    call $deep
    i32.const 1
    i32.add)
  (func (export "unwind") (param i32) (result i32)
    try (result i32)
      local.get 0
      call $deep
    catch $one
    end)

  ;; Each activation has its handlers.
  (func $fold (export "fold") (param i32) (result i32)
    local.get 0
    i32.eqz
    if
      i32.const 0
      throw $one
    end
    try (result i32)
      local.get 0
      i32.const 1
      i32.sub
      call $fold
    catch $one
      local.get 0
      i32.add
      throw $one
    end)

  (func (export "loop") (param i32) (result i32) (local $rounds i32)
    loop $again
      try
        local.get $rounds
        i32.const 1
        i32.add
        local.tee $rounds
        local.get 0
        i32.lt_u
        if
          throw $none
        end
      catch $none
        br $again
      end
    end
    local.get $rounds)

  (func (export "folded") (param i32) (result i32)
    try (result i32)
      local.get 0
      call $fold
    catch $one
    end)
)

(assert_return (invoke "choose" (i32.const 0)) (i32.const 100))
(assert_return (invoke "choose" (i32.const 1)) (i32.const 101))
(assert_return (invoke "choose" (i32.const 2)) (i32.const 1011))
(assert_return (invoke "choose" (i32.const 3)) (i32.const 22))
(assert_trap (invoke "choose" (i32.const 4)) "unreachable")
(assert_return (invoke "some" (i32.const 0)) (i32.const 100))
(assert_exception (invoke "some" (i32.const 1)))
(assert_return (invoke "some" (i32.const 2)) (i32.const 11))
(assert_exception (invoke "some" (i32.const 3)))
(assert_return (invoke "rest" (i32.const 0)) (i32.const 100))
(assert_return (invoke "rest" (i32.const 1)) (i32.const -1))
(assert_return (invoke "rest" (i32.const 2)) (i32.const 11))
(assert_return (invoke "rest" (i32.const 3)) (i32.const -1))
;; A trap is no exception.
(assert_trap (invoke "rest" (i32.const 4)) "unreachable")
(assert_return (invoke "bare" (i32.const 0)) (i32.const 100))
(assert_exception (invoke "bare" (i32.const 2)))
(assert_return (invoke "first") (i32.const 5))
(assert_return (invoke "values" (i32.const 0)) (i32.const 12))
(assert_return (invoke "values" (i32.const 3)) (i32.const 18))
(assert_return (invoke "values" (i32.const 1)) (i32.const 0))
(assert_return (invoke "locals" (i32.const 0)) (i32.const 2))
(assert_return (invoke "locals" (i32.const 1)) (i32.const 11))
(assert_return (invoke "in-handler") (i32.const 6))
(assert_return (invoke "within-handler" (i32.const 0)) (i32.const 41))
(assert_return (invoke "within-handler" (i32.const 2)) (i32.const 42))
(assert_return (invoke "within-handler" (i32.const 3)) (i32.const 43))
(assert_return (invoke "nested" (i32.const 0)) (i32.const 0))
(assert_return (invoke "nested" (i32.const 1)) (i32.const 1))
(assert_return (invoke "nested" (i32.const 2)) (i32.const 2))
(assert_return (invoke "nested" (i32.const 3)) (i32.const 3))
(assert_return (invoke "unwind" (i32.const 0)) (i32.const 77))
(assert_return (invoke "unwind" (i32.const 100)) (i32.const 77))
(assert_exception (invoke "fold" (i32.const 3)))
(assert_return (invoke "folded" (i32.const 3)) (i32.const 6))
(assert_return (invoke "loop" (i32.const 1)) (i32.const 1))
(assert_return (invoke "loop" (i32.const 50)) (i32.const 50))

;; Branches out of bodies and handlers
(module
  (tag $e (param i32))

  ;; Where a branch by 0, 1, 2 or more of a body leads.
  (func (export "body") (param i32) (result i32)
    block $outer (result i32)
      block $middle (result i32)
        try $try (result i32)
          i32.const 5
          local.get 0
          br_table $try $middle $outer 3
        catch_all
          i32.const -1
        end
        i32.const 10
        i32.add
      end
      i32.const 100
      i32.add
    end)

  (func (export "handler") (param i32) (result i32)
    block $outer (result i32)
      block $middle (result i32)
        try $try (result i32)
          i32.const 6
          throw $e
        catch $e
          local.get 0
          br_table $try $middle $outer 3
        catch_all
          i32.const -1
        end
        i32.const 10
        i32.add
      end
      i32.const 100
      i32.add
    end)

  (func (export "conditional") (param i32) (result i32)
    block $outer (result i32)
      try $try (result i32)
        i32.const 1
        local.get 0
        i32.const 1
        i32.eq
        br_if $outer
        local.get 0
        i32.const 2
        i32.eq
        br_if $try
        throw $e
      catch_all
        i32.const 3
        local.get 0
        i32.const 3
        i32.eq
        br_if $outer
        i32.const 1
        i32.add
      end
      i32.const 10
      i32.add
    end)

  (func (export "return") (param i32) (result i32)
    try
      local.get 0
      if
        i32.const 1
        throw $e
      end
      i32.const 1
      return
    catch $e
      i32.const 1
      i32.add
      return
    end
    unreachable)

  ;; Code that is never reached has any type.
  (func (export "dead") (result i32)
    block $out (result i32)
      try (result i32)
        i32.const 8
        throw $e
        i32.add
        try (param i32) (result i32 i64)
          br 1
        catch $e
          rethrow 0
          i64.add
        catch_all
          unreachable
        end
        drop
      catch $e
        br $out
        try (param i32 i32) (result i32)
          i32.add
        delegate 2
      end
    end)
)

(assert_return (invoke "body" (i32.const 0)) (i32.const 115))
(assert_return (invoke "body" (i32.const 1)) (i32.const 105))
(assert_return (invoke "body" (i32.const 2)) (i32.const 5))
(assert_return (invoke "body" (i32.const 3)) (i32.const 5))
(assert_return (invoke "handler" (i32.const 0)) (i32.const 116))
(assert_return (invoke "handler" (i32.const 1)) (i32.const 106))
(assert_return (invoke "handler" (i32.const 2)) (i32.const 6))
(assert_return (invoke "handler" (i32.const 9)) (i32.const 6))
(assert_return (invoke "conditional" (i32.const 1)) (i32.const 1))
(assert_return (invoke "conditional" (i32.const 2)) (i32.const 11))
(assert_return (invoke "conditional" (i32.const 3)) (i32.const 3))
(assert_return (invoke "conditional" (i32.const 4)) (i32.const 14))
(assert_return (invoke "return" (i32.const 0)) (i32.const 1))
(assert_return (invoke "return" (i32.const 1)) (i32.const 2))
(assert_return (invoke "dead") (i32.const 8))

;; rethrow
(module
  (tag $a (param i32))
  (tag $b (param i32))

  (func $throw (param $which i32) (param $value i32)
    local.get $value
    local.get $which
    if (param i32) (result i32)
      throw $b
    end
    throw $a)

  ;; What arrives at the caller of a rethrow: 1000 with $a, 2000 with $b.
  (func $arrives (param i32 i32) (result i32)
    try (result i32)
      local.get 0
      local.get 1
      call $pass
      i32.const 0
    catch $a
      i32.const 1000
      i32.add
    catch $b
      i32.const 2000
      i32.add
    end)
  (func $pass (export "pass") (param i32 i32)
    try
      local.get 0
      local.get 1
      call $throw
    catch_all
      rethrow 0
    end)
  (func (export "arrives") (param i32 i32) (result i32)
    local.get 0
    local.get 1
    call $arrives)

  ;; Handlers within handlers: which exception is thrown again.
  (func (export "levels") (param $level i32) (result i32)
    try (result i32)
      try
        i32.const 1
        throw $a
      catch $a
        drop
        try
          i32.const 2
          throw $b
        catch $b
          drop
          try
            i32.const 3
            throw $a
          catch_all
            block
              block
                block
                  local.get $level
                  br_table 0 1 2
                end
                rethrow 2
              end
              rethrow 2
            end
            rethrow 2
          end
        end
      end
      i32.const 0
    catch $a
    catch $b
      i32.const 10
      i32.add
    end)

  ;; A handler throws its exception again although others were caught since.
  (func (export "after") (result i32)
    try (result i32)
      try (result i32)
        i32.const 1
        throw $a
      catch $a
        drop
        try
          i32.const 2
          throw $b
        catch_all
        end
        try
          try
            i32.const 3
            throw $a
          catch_all
            rethrow 0
          end
        catch $a
          drop
        end
        rethrow 0
      end
    catch $a
    end)

  ;; Each activation keeps its own.
  (func $recurse (param i32)
    try
      local.get 0
      throw $a
    catch $a
      drop
      local.get 0
      if
        try
          local.get 0
          i32.const 1
          i32.sub
          call $recurse
        catch $a
          drop
        end
      end
      rethrow 0
    end)
  (func (export "recurse") (param i32) (result i32)
    try (result i32)
      local.get 0
      call $recurse
      i32.const -1
    catch $a
    end)

  ;; One handler of several throws again.
  (func (export "one-of") (param i32) (result i32)
    try (result i32)
      try (result i32)
        local.get 0
        i32.const 5
        call $throw
        i32.const 0
      catch $a
        i32.const 50
        i32.add
      catch $b
        drop
        rethrow 0
      end
    catch $b
      i32.const 60
      i32.add
    end)

  (func (export "in-loop") (param $n i32) (result i32) (local $sum i32)
    loop $again
      try
        try
          local.get $n
          throw $a
        catch $a
          local.get $sum
          i32.add
          local.set $sum
          rethrow 0
        end
      catch_all
        local.get $n
        i32.const 1
        i32.sub
        local.tee $n
        br_if $again
      end
    end
    local.get $sum)
)

(assert_return (invoke "arrives" (i32.const 0) (i32.const 7)) (i32.const 1007))
(assert_return (invoke "arrives" (i32.const 1) (i32.const 8)) (i32.const 2008))
(assert_exception (invoke "pass" (i32.const 1) (i32.const 8)))
(assert_return (invoke "levels" (i32.const 0)) (i32.const 3))
(assert_return (invoke "levels" (i32.const 1)) (i32.const 12))
(assert_return (invoke "levels" (i32.const 2)) (i32.const 1))
(assert_return (invoke "after") (i32.const 1))
(assert_return (invoke "recurse" (i32.const 9)) (i32.const 9))
(assert_return (invoke "one-of" (i32.const 0)) (i32.const 55))
(assert_return (invoke "one-of" (i32.const 1)) (i32.const 65))
(assert_return (invoke "in-loop" (i32.const 10)) (i32.const 55))

;; delegate
(module
  (tag $a (param i32))
  (tag $b)
  (func $throw (param i32)
    local.get 0
    if
      local.get 0
      throw $a
    end)

  (func (export "nothing") (result i32)
    i32.const 3
    try (param i32) (result i32)
      i32.const 1
      i32.add
    delegate 0)

  (func (export "nearest") (param i32) (result i32)
    try $t (result i32)
      try (result i32)
        local.get 0
        call $throw
        i32.const 1
      delegate $t
    catch $a
      i32.const 10
      i32.add
    end)

  (func (export "skip") (param i32) (result i32)
    try $far (result i32)
      try $near (result i32)
        try (result i32)
          local.get 0
          call $throw
          i32.const 1
        delegate $far
      catch_all
        i32.const -1
      end
      i32.const 2
      i32.add
    catch $a
      i32.const 100
      i32.add
    end)

  ;; What the target does not handle goes on outwards from there.
  (func (export "unhandled") (param i32) (result i32)
    try (result i32)
      try $target (result i32)
        try (result i32)
          try (result i32)
            local.get 0
            call $throw
            i32.const 1
          delegate $target
        catch_all
          i32.const -1
        end
      catch $b
        i32.const -2
      end
    catch $a
      i32.const 200
      i32.add
    end)

  (func (export "to-caller") (param i32)
    try
      try
        local.get 0
        call $throw
      delegate 1
    catch_all
    end)
  (func (export "to-caller-deep") (param i32) (result i32)
    try (result i32)
      block (result i32)
        try (result i32)
          loop (result i32)
            try (result i32)
              local.get 0
              call $throw
              i32.const 4
            delegate 4
          end
        catch_all
          i32.const -1
        end
      end
    catch $a
    end)

  ;; A label that is no try: the next try outside of it.
  (func (export "block") (param i32) (result i32)
    try (result i32)
      block $label (result i32)
        try (result i32)
          try (result i32)
            local.get 0
            call $throw
            i32.const 1
          delegate $label
        catch_all
          i32.const -1
        end
      end
    catch $a
      i32.const 300
      i32.add
    end)

  ;; The label of a try, in one of its handlers: the next try outside of it.
  (func (export "own-handler") (param i32) (result i32)
    try (result i32)
      try $label (result i32)
        throw $b
      catch $b
        try (result i32)
          try (result i32)
            local.get 0
            call $throw
            i32.const 1
          delegate $label
        catch_all
          i32.const -1
        end
      catch $a
        drop
        i32.const -2
      end
    catch $a
      i32.const 400
      i32.add
    end)

  (func (export "chain") (param i32) (result i32)
    try $last (result i32)
      try (result i32)
        try $first (result i32)
          try (result i32)
            try (result i32)
              local.get 0
              call $throw
              i32.const 1
            delegate $first
          catch_all
            i32.const -1
          end
        delegate $last
      catch_all
        i32.const -2
      end
    catch $a
      i32.const 500
      i32.add
    end)

  ;; It takes part where its target has no handler.
  (func (export "bare-target") (param i32) (result i32)
    try (result i32)
      try $bare (result i32)
        try (result i32)
          try (result i32)
            local.get 0
            call $throw
            i32.const 1
          delegate $bare
        catch_all
          i32.const -1
        end
      end
    catch $a
      i32.const 600
      i32.add
    end)

  ;; With parameters, and branches past the target.
  (func (export "values") (param i32) (result i32)
    block $out (result i32)
      i32.const 20
      try $target (param i32) (result i32)
        i32.const 2
        try (param i32 i32) (result i32)
          try (param i32 i32) (result i32)
            i32.add
            local.get 0
            call $throw
            local.get 0
            br_if $out
            i32.const 1
            br $target
          delegate $target
        catch_all
          i32.const -1
        end
      catch $a
        i32.const 700
        i32.add
      end
      i32.const 5
      i32.add
    end)

  ;; The exception is the same: a handler of the target throws it again.
  (func (export "rethrown") (param i32) (result i32)
    try (result i32)
      try $target (result i32)
        try (result i32)
          try (result i32)
            local.get 0
            call $throw
            i32.const 1
          delegate $target
        catch_all
          i32.const -1
        end
      catch $a
        drop
        rethrow 0
      end
    catch $a
      i32.const 800
      i32.add
    end)
)

(assert_return (invoke "nothing") (i32.const 4))
(assert_return (invoke "nearest" (i32.const 0)) (i32.const 1))
(assert_return (invoke "nearest" (i32.const 5)) (i32.const 15))
(assert_return (invoke "skip" (i32.const 0)) (i32.const 3))
(assert_return (invoke "skip" (i32.const 5)) (i32.const 105))
(assert_return (invoke "unhandled" (i32.const 0)) (i32.const 1))
(assert_return (invoke "unhandled" (i32.const 5)) (i32.const 205))
(assert_return (invoke "to-caller" (i32.const 0)))
(assert_exception (invoke "to-caller" (i32.const 5)))
(assert_return (invoke "to-caller-deep" (i32.const 0)) (i32.const 4))
(assert_exception (invoke "to-caller-deep" (i32.const 5)))
(assert_return (invoke "block" (i32.const 0)) (i32.const 1))
(assert_return (invoke "block" (i32.const 5)) (i32.const 305))
(assert_return (invoke "own-handler" (i32.const 0)) (i32.const 1))
(assert_return (invoke "own-handler" (i32.const 5)) (i32.const 405))
(assert_return (invoke "chain" (i32.const 0)) (i32.const 1))
(assert_return (invoke "chain" (i32.const 5)) (i32.const 505))
(assert_return (invoke "bare-target" (i32.const 0)) (i32.const 1))
(assert_return (invoke "bare-target" (i32.const 5)) (i32.const 605))
(assert_return (invoke "values" (i32.const 0)) (i32.const 6))
(assert_return (invoke "values" (i32.const 5)) (i32.const 710))
(assert_return (invoke "rethrown" (i32.const 0)) (i32.const 1))
(assert_return (invoke "rethrown" (i32.const 5)) (i32.const 805))
