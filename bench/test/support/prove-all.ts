// Proves every case in one process, which is enough because nothing is measured, and prints the names.
import type { CaseModule } from "../../harness/subject.ts";
import { httpCases } from "../../http/cases.ts";

async function main(): Promise<void> {
  for (const { name, module, setting = "" } of httpCases) {
    const { start } = (await import(module.href)) as CaseModule;
    const subject = await start(setting);
    await subject.prove();
    await subject.run(2);
    console.log(name);
  }
  process.exit();
}

void main();
