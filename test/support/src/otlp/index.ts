export {
  decodeJson,
  decodeProtobuf,
  type ReceivedAttributes,
  type ReceivedEvent,
  type ReceivedSpan,
  receivedSpans,
} from "@svc/conformance/otlp";
export type { Behaviour } from "./answer.ts";
export {
  openOtlpReceiver,
  type OtlpReceiver,
  type OtlpReceiverOptions,
  type ReceivedRequest,
} from "./receiver.ts";
export { type Canaries, type CanaryKind, newCanaries, placesOf, type Written } from "./canaries.ts";
export { treeOf } from "./span-tree.ts";
