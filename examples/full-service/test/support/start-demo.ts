// What start.ts does, for a checkout that the test names: a developer's demo data are not the test's.
import { startDemo } from "../../src/demo.ts";
import { cheapCost } from "./cheap-cost.ts";

const { CHECKOUT: checkout, PASSWORDS: passwords, ...env } = process.env;
if (checkout === undefined) throw new Error("CHECKOUT must name a folder");
void startDemo({
  checkout,
  env,
  // What it costs to open is spent by one test file alone, and so is what it takes to keep passwords well.
  openSearch: false,
  passwords: passwords === "kept well" ? undefined : { cost: cheapCost },
});
