;; test optimize --module wasm/debug/mandelbrot.wasm --loop-of mandelbrot::escape::<f32>
;; The hot loop of `mandelbrot` in a debug build of rustc, which calls `norm`, `mul` and `add`: all of them are part of
;; it.
;; has: f32.mul
;; lacks: call

;; loop ;; label = @2
;;   local.get 4
;;   i32.load offset=40
;;   i32.const 300
;;   i32.lt_u
;;   i32.const 1
;;   i32.and
;;   i32.eqz
;;   br_if 1 (;@1;)
;;   local.get 4
;;   local.get 4
;;   f32.load offset=32
;;   local.get 4
;;   f32.load offset=36
;;   local.set 18
;;   local.set 17
;;   block (result f32) ;; label = @3
;;     local.get 17
;;     local.get 17
;;     i32.const 1048604
;;     local.set 21
;;     local.set 20
;;     local.set 19
;;     block (result f32) ;; label = @4
;;       local.get 19
;;       local.get 20
;;       f32.mul
;;       br 0 (;@4;)
;;     end
;;     local.get 18
;;     local.get 18
;;     i32.const 1048620
;;     local.set 21
;;     local.set 20
;;     local.set 19
;;     block (result f32) ;; label = @4
;;       local.get 19
;;       local.get 20
;;       f32.mul
;;       br 0 (;@4;)
;;     end
;;     i32.const 1048604
;;     local.set 21
;;     local.set 20
;;     local.set 19
;;     block (result f32) ;; label = @4
;;       local.get 19
;;       local.get 20
;;       f32.add
;;       br 0 (;@4;)
;;     end
;;     br 0 (;@3;)
;;   end
;;   f32.store offset=44
;;   local.get 4
;;   f32.load offset=44
;;   local.get 4
;;   f32.load offset=28
;;   f32.le
;;   i32.const 1
;;   i32.and
;;   i32.eqz
;;   br_if 1 (;@1;)
;;   local.get 4
;;   f32.load offset=32
;;   local.set 5
;;   local.get 4
;;   f32.load offset=36
;;   local.set 6
;;   local.get 4
;;   f32.load offset=32
;;   local.set 7
;;   local.get 4
;;   f32.load offset=36
;;   local.set 8
;;   local.get 4
;;   i32.const 8
;;   i32.add
;;   local.get 5
;;   local.get 6
;;   local.get 7
;;   local.get 8
;;   local.set 20
;;   local.set 19
;;   local.set 18
;;   local.set 17
;;   local.set 21
;;   block ;; label = @3
;;     local.get 17
;;     local.get 19
;;     f32.mul
;;     local.get 18
;;     local.get 20
;;     f32.mul
;;     f32.sub
;;     local.set 22
;;     local.get 21
;;     local.get 17
;;     local.get 20
;;     f32.mul
;;     local.get 18
;;     local.get 19
;;     f32.mul
;;     f32.add
;;     f32.store offset=4
;;     local.get 21
;;     local.get 22
;;     f32.store
;;     br 0 (;@3;)
;;   end
;;   local.get 4
;;   f32.load offset=12
;;   local.set 9
;;   local.get 4
;;   f32.load offset=8
;;   local.set 10
;;   local.get 4
;;   i32.const 16
;;   i32.add
;;   local.get 10
;;   local.get 9
;;   local.get 1
;;   local.get 2
;;   local.set 20
;;   local.set 19
;;   local.set 18
;;   local.set 17
;;   local.set 21
;;   block ;; label = @3
;;     local.get 17
;;     local.get 19
;;     i32.const 1052912
;;     local.set 25
;;     local.set 24
;;     local.set 23
;;     block (result f32) ;; label = @4
;;       local.get 23
;;       local.get 24
;;       f32.add
;;       br 0 (;@4;)
;;     end
;;     local.set 22
;;     local.get 21
;;     local.get 18
;;     local.get 20
;;     i32.const 1052928
;;     local.set 25
;;     local.set 24
;;     local.set 23
;;     block (result f32) ;; label = @4
;;       local.get 23
;;       local.get 24
;;       f32.add
;;       br 0 (;@4;)
;;     end
;;     f32.store offset=4
;;     local.get 21
;;     local.get 22
;;     f32.store
;;     br 0 (;@3;)
;;   end
;;   local.get 4
;;   f32.load offset=20
;;   local.set 11
;;   local.get 4
;;   local.get 4
;;   f32.load offset=16
;;   f32.store offset=32
;;   local.get 4
;;   local.get 11
;;   f32.store offset=36
;;   local.get 4
;;   i32.load offset=40
;;   local.set 12
;;   local.get 12
;;   i32.const 1
;;   i32.add
;;   local.set 13
;;   block ;; label = @3
;;     local.get 13
;;     local.get 12
;;     i32.lt_u
;;     i32.const 1
;;     i32.and
;;     br_if 0 (;@3;)
;;     local.get 4
;;     local.get 13
;;     i32.store offset=40
;;     br 1 (;@2;)
;;   end
;; end
