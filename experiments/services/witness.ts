import { createServer } from "node:http";
import { listenAndAnnounce } from "../harness/within-service.ts";

// Has nothing of what is tested: where it is late, the machine is.
listenAndAnnounce(createServer((_req, res) => void res.end()));
