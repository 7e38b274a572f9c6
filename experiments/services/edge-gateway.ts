import { createService } from "@svc/express";
import { announce, settingsOfParent } from "../harness/within-service.ts";

export interface EdgeGatewaySettings {
  /** The targets of the prefix `/api`, which is removed. */
  readonly replicas: readonly string[];
  /** The target of the prefix `/socket`. */
  readonly sockets: string;
}

const { replicas, sockets } = settingsOfParent<EdgeGatewaySettings>();

const service = await createService({
  env: {},
  config: {
    toml: `
      [service]
      name = "edge-gateway"
      port = 0
      shutdown_timeout = 20
      [plugins]
      enabled = ["observability", "gateway"]
      [plugin.observability]
      access_log = false
      [plugin.gateway.routes.api]
      prefix = "/api"
      targets = ${JSON.stringify(replicas)}
      strip_prefix = true
      [plugin.gateway.routes.socket]
      prefix = "/socket"
      targets = [${JSON.stringify(sockets)}]
    `,
  },
});
await service.start();
announce(service.address?.port);
