export type { Behaviour } from "./answer.ts";
export { decodeJson } from "./decode-json.ts";
export { decodeProtobuf } from "./decode-protobuf.ts";
export {
  type ReceivedAttributes,
  type ReceivedEvent,
  type ReceivedSpan,
  receivedSpans,
} from "./received-span.ts";
export {
  openOtlpReceiver,
  type OtlpReceiver,
  type OtlpReceiverOptions,
  type ReceivedRequest,
} from "./receiver.ts";
