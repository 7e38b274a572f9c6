// Starts the demo as start.ts does, but for a temporary checkout, so that a developer's demo data stay unchanged.
import { startDemo } from "../../src/demo.ts";
import { cheapCost } from "./cheap-cost.ts";

const { CHECKOUT: checkout, PASSWORDS: passwords, ...env } = process.env;
if (checkout === undefined) throw new Error("CHECKOUT must be the path of a folder");
void startDemo({
  checkout,
  env,
  // Save time: only one test file opens the search, and only one hashes passwords at full cost.
  openSearch: false,
  passwords: passwords === "kept well" ? undefined : { cost: cheapCost },
});
