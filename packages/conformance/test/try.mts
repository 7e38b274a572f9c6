import { checkConformance, asTable } from "@svc/conformance";
import { bases } from "/work/main/packages/conformance/test/support/bases.ts";
import { startUnderTest } from "/work/main/packages/conformance/test/support/service-under-test.ts";
const names = process.argv[2] ? process.argv[2].split(",") : Object.keys(bases);
for (const name of names) {
  const t = await startUnderTest(name as never);
  const at = performance.now();
  const report = await checkConformance({ ...t.options, house: process.argv[3] !== "contract" });
  console.log("=====", name, Math.round(performance.now() - at), "ms", report.passed, report.failed, report.notApplicable);
  for (const f of report.findings) if (f.verdict.status === "fail" || process.argv[4]) console.log(f.id, JSON.stringify(f.verdict));
  console.log(report.findings.toSorted((a,b)=>b.durationMs-a.durationMs).slice(0,6).map(f=>f.id+" "+Math.round(f.durationMs)).join(", "));
  await t[Symbol.asyncDispose]();
}
