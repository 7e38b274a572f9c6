// Loads what most processes of a test run load, so that its compiled form is on disk before they start: a process that
// is killed, as most of those are that tests start, leaves nothing there. Expects NODE_COMPILE_CACHE.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { manifests } from "./workspace.mjs";

const entries = [...manifests().values()].flatMap(({ folder, exports = {} }) =>
  Object.values(exports)
    .map((conditions) => conditions["@svc/source"])
    .filter((file) => file !== undefined)
    .map((file) => pathToFileURL(join(process.cwd(), folder, file)).href),
);
const others = ["express", "express4", "chai", "supertest", "@svc/test-support", "@svc/test-support/openid"];
// What cannot be loaded is found by the tests of it.
await Promise.allSettled([...entries, ...others].map((each) => import(each)));
