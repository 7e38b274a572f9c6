// Creates rules.json of the conformance kit, which contains the rules of docs/contract.md that the kit knows. The package
// needs this copy because it is published without that document.
import { join } from "node:path";
import { format, resolveConfig } from "prettier";

/** Packages whose rules the kit knows. The kit does not cover the other packages yet. */
const covered = new Set(
  (
    "config dev-services health json-body log metrics problem request-id express database jwt-auth tenancy cache " +
    "token-store token-issuer oidc-login telemetry http-client gateway openapi rate-limit"
  ).split(" "),
);

export const kitRulesFile = join(import.meta.dirname, "../packages/conformance/rules.json");

/** Returns the content of rules.json: the rules of covered packages that are visible from outside. */
export async function kitRules(rules) {
  const known = rules
    .filter((rule) => rule.outside && covered.has(rule.package))
    .map(({ id, title, text, contract, profile }) => ({
      id,
      title,
      text,
      section: contract.section,
      source: contract.source === "contract" ? "contract" : "house",
      stricter: contract.mark === "stricter",
      profile,
    }));
  return format(JSON.stringify(known), { ...(await resolveConfig(kitRulesFile)), parser: "json" });
}
