// Loads the modules that most processes of a test run load, so that the compile cache is on disk before they start. Most child
// processes of tests are killed, and a killed process writes no cache. Expects NODE_COMPILE_CACHE.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { manifests } from "./workspace.mjs";

const entries = [...manifests().values()].flatMap(({ folder, exports = {} }) =>
  Object.values(exports)
    .map((conditions) => conditions["@svc/source"])
    .filter((file) => file !== undefined)
    .map((file) => pathToFileURL(join(process.cwd(), folder, file)).href),
);
// The example service, which tests start dozens of times, and the libraries that it loads later.
const example = ["service", "demo", "demo-provider", "database-role"].map(
  (name) => pathToFileURL(join(process.cwd(), "examples/full-service/src", `${name}.ts`)).href,
);
const others = [
  ...["express", "express4", "chai", "supertest", "@svc/test-support", "@svc/test-support/openid"],
  ...["@opentelemetry/sdk-trace", "@opentelemetry/context-async-hooks"],
  ...example,
];
// Ignore: a module that cannot be loaded fails its own tests.
await Promise.allSettled([...entries, ...others].map((each) => import(each)));
