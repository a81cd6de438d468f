#!/usr/bin/env bash
# Makes src/images/flame-graph.svg: SQLite's shell, which fills a table and sums it up, on the CPU engine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=${BIN:-target/release/gpu-run}
query="create table t(a integer, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
  insert into t select i % 97, printf('row %d', i) from n;
create index by_a on t(a);
select a, count(*), max(b), sum(length(b)) from t where b like '%7%' group by a order by 4 desc limit 3;"
"$bin" --device cpu --profile-rate 4000 --profile docs/src/images/flame-graph.svg fixtures/wasm/wasi/sqlite3.wasm :memory: "$query"
