import { createMemoryTokenStore } from "@svc/token-store";
import { tokenStoreCases } from "@svc/token-store/testing";

// The README's sample runs the suite on the real clock.
describe("createMemoryTokenStore in the token store suite", () => {
  let now = 1_000;
  const cases = tokenStoreCases({
    create: () => createMemoryTokenStore({ now: () => now }),
    advance: (ms) => void (now += ms),
  });
  for (const { name, run } of cases) it(name, run);
});
