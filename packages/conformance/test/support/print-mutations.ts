// Prints the rule that each broken service breaks: node --conditions=@svc/source test/support/print-mutations.ts
import { issuingMutations, mutations } from "../mutations.ts";

console.log("| rule | what the service does wrong | service |");
console.log("| --- | --- | --- |");
for (const { rule, what, base } of [...mutations(), ...issuingMutations()])
  console.log(`| ${rule} | ${what} | ${base} |`);
