import { createMemoryTokenStore } from "@svc/token-store";
import { tokenStoreCases } from "@svc/token-store/testing";

describe("createMemoryTokenStore, the suite", () => {
  let now = 1_000;
  const onMovedClock = tokenStoreCases({
    create: () => createMemoryTokenStore({ now: () => now }),
    advance: (ms) => void (now += ms),
  });
  for (const { name, run } of onMovedClock) it(name, run);

  describe("on the clock of the process", () => {
    for (const { name, run } of tokenStoreCases({ create: () => createMemoryTokenStore() })) it(name, run);
  });
});
