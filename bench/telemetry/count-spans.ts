// Prints the number of spans per request or statement of one case, whose module and setting are its arguments.
import type { TracedModule } from "./traced-subject.ts";

// A multiple of the size of a batch of the exporter `otlp`.
const COUNT = 1024;

const [moduleUrl = "", setting = ""] = process.argv.slice(2);
const { start } = (await import(moduleUrl)) as TracedModule;
const subject = await start(setting);
await subject.prove();
const before = await subject.spans();
await subject.run(COUNT);
console.log(((await subject.spans()) - before) / COUNT);
process.exit();
