;; The Mandelbrot set, a row of 1,024 points for each thread's turn, with a debug message for each row: how
;; many of its points are in the set.
(module
  (import "gpu_run_v1" "gid" (func $gid (result i32)))
  (import "gpu_run_v1" "thread_count" (func $threads (result i32)))
  (import "gpu_run_v1" "dbg_u32" (func $u32 (param i32)))
  (import "gpu_run_v1" "dbg_nl" (func $nl))
  (import "gpu_run_v1" "dbg_str" (func $str (param i32 i32)))
  (memory 1)
  (data (i32.const 0) "row : ")

  ;; Whether 256 steps of z = z * z + c stay within 2.
  (func $inside (param $cx f32) (param $cy f32) (result i32)
    (local $x f32) (local $y f32) (local $xx f32) (local $yy f32) (local $left i32)
    (local.set $left (i32.const 256))
    (loop $next
      (local.set $xx (f32.mul (local.get $x) (local.get $x)))
      (local.set $yy (f32.mul (local.get $y) (local.get $y)))
      (if (f32.gt (f32.add (local.get $xx) (local.get $yy)) (f32.const 4)) (then (return (i32.const 0))))
      (local.set $y (f32.add (f32.mul (f32.mul (f32.const 2) (local.get $x)) (local.get $y)) (local.get $cy)))
      (local.set $x (f32.add (f32.sub (local.get $xx) (local.get $yy)) (local.get $cx)))
      (br_if $next (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
    (i32.const 1))

  (func (export "rows") (param $rows i32)
    (local $row i32) (local $column i32) (local $count i32) (local $cy f32)
    (local.set $row (call $gid))
    (block $done
      (loop $next_row
        (br_if $done (i32.ge_u (local.get $row) (local.get $rows)))
        (local.set $cy
          (f32.sub
            (f32.div (f32.mul (f32.const 2.4) (f32.convert_i32_u (local.get $row)))
                     (f32.convert_i32_u (local.get $rows)))
            (f32.const 1.2)))
        (local.set $count (i32.const 0))
        (local.set $column (i32.const 0))
        (loop $next
          (local.set $count
            (i32.add (local.get $count)
              (call $inside
                (f32.sub (f32.div (f32.convert_i32_u (local.get $column)) (f32.const 340)) (f32.const 2.2))
                (local.get $cy))))
          (br_if $next (i32.lt_u (local.tee $column (i32.add (local.get $column) (i32.const 1))) (i32.const 1024))))
        (call $str (i32.const 0) (i32.const 4))
        (call $u32 (local.get $row))
        (call $str (i32.const 4) (i32.const 2))
        (call $u32 (local.get $count))
        (call $nl)
        (local.set $row (i32.add (local.get $row) (call $threads)))
        (br $next_row)))))
