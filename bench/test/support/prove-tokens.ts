// Proves every case of the bench `tokens` in one process, on the servers of its arguments, and prints the names.
import type { CaseModule } from "../../harness/subject.ts";
import { groupsOf, type Servers } from "../../tokens/groups.ts";

async function main(): Promise<void> {
  const servers = JSON.parse(process.argv[2] ?? "") as Servers;
  for (const { name, module, setting = "" } of groupsOf(servers).flatMap(({ cases }) => cases)) {
    const { start } = (await import(module.href)) as CaseModule;
    const subject = await start(setting);
    await subject.prove();
    await subject.run(40);
    console.log(name);
  }
  process.exit();
}

void main();
