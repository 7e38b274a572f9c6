// What start.ts does, for a checkout that the test names: a developer's demo data are not the test's.
import { startDemo } from "../../src/demo.ts";

const { CHECKOUT: checkout, ...env } = process.env;
if (checkout === undefined) throw new Error("CHECKOUT must name a folder");
// What it costs to open is spent by one test file alone.
void startDemo({ checkout, env, openSearch: false });
