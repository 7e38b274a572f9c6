// Starts the SDK for an application that imports its modules; `--require ./sdk.cjs` sees only modules that are required.
import { createRequire, register } from "node:module";

register("@opentelemetry/instrumentation/hook.mjs", import.meta.url);
createRequire(import.meta.url)("./sdk.cjs");
