import { createNatsJetStreamBus } from "@svc/events/nats-jetstream";
import { eventBusCases } from "@svc/events/testing";
import { brokerNats, LOGIN } from "./support/servers.ts";
import { tappedBuses } from "./support/tapped-buses.ts";

describe("the bus on NATS JetStream in the event bus suite", function () {
  this.timeout(60_000);
  const nats = brokerNats();
  const login = `${LOGIN.user}:${LOGIN.password}`;
  const options = { prefix: "svc.", ackWaitMs: 300, retryBaseMs: 10, timeoutMs: 10_000 };
  const cases = eventBusCases({
    open: () =>
      tappedBuses(nats.server, (port) =>
        createNatsJetStreamBus({ servers: `nats://${login}@127.0.0.1:${port}`, ...options }),
      ),
  });
  for (const { name, run } of cases) it(name, run);
});
