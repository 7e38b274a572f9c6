import { checkConformance } from "@svc/conformance";
import { mutations } from "/work/main/packages/conformance/test/mutations.ts";
import { bases } from "/work/main/packages/conformance/test/support/bases.ts";
import { startUnderTest } from "/work/main/packages/conformance/test/support/service-under-test.ts";
const only = process.argv[2]?.split(",");
const base = new Map();
async function run(b, d) { const t = await startUnderTest(b, d); try { return await checkConformance({ ...t.options, house: true }); } finally { await t[Symbol.asyncDispose](); } }
const work = mutations.filter(m => !only || only.includes(m.rule));
const at = performance.now();
for (const b of new Set(work.map(m => m.base))) { base.set(b, await run(b, {})); const f = base.get(b).findings.filter(x=>x.verdict.status==="fail"); if (f.length) console.log("BASE", b, JSON.stringify(f)); }
console.log("bases", Math.round(performance.now()-at));
const queue = [...work];
await Promise.all(Array.from({length: 12}, async () => { for (let m = queue.shift(); m; m = queue.shift()) {
  let r; try { r = await run(m.base, m.differences); } catch (e) { console.log("ERR", m.rule, m.what, String(e).slice(0,300)); continue; }
  const failed = r.findings.filter(f => f.verdict.status === "fail");
  const passed = new Set(base.get(m.base).findings.filter(f => f.verdict.status === "pass").map(f => f.id));
  const lost = r.findings.filter(f => f.verdict.status === "not applicable" && passed.has(f.id)).map(f => f.id);
  const bad = failed.map(f => f.id).join() !== m.rule || lost.toSorted().join() !== [...(m.unjudged ?? [])].toSorted().join();
  if (bad) console.log("BAD", m.base, m.rule, m.what, "=>", failed.map(f => f.id + ":" + f.verdict.seen).join(" | "), "lost:", lost.join());
} }));
console.log(work.length, "mutations", Math.round(performance.now()-at), "ms");
