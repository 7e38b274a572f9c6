// Does the same as start.ts for a checkout of the test, so that a developer's demo data stay untouched.
import { startDemo } from "../../src/demo.ts";
import { cheapCost } from "./cheap-cost.ts";

const { CHECKOUT: checkout, PASSWORDS: passwords, ...env } = process.env;
if (checkout === undefined) throw new Error("CHECKOUT must name a folder");
void startDemo({
  checkout,
  env,
  // Only one test file pays for opening the search, and for hashing passwords at full cost.
  openSearch: false,
  passwords: passwords === "kept well" ? undefined : { cost: cheapCost },
});
