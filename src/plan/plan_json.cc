#include "plan/plan_report.h"

namespace encode {
namespace {

Json known(double value) { return value > 0 ? Json(value) : Json(); }

// [least, most], or null if the time is not known.
Json range(const EncodingTime& time) {
  return time.seconds > 0 ? Json{time.least, time.most} : Json();
}

Json to_json(const MemoryEstimate& memory) {
  Json parts = Json::array();
  for (const MemoryPart& part : memory.parts)
    parts.push_back({{"part", to_string(part.kind)}, {"bytes", part.bytes}, {"why", part.why}});
  return {{"parts", parts}, {"total_bytes", memory.total_bytes()}};
}

Json to_json(const Price& price) {
  return {{"choice", price.choice},
          {"memory_bytes", price.memory_bytes},
          {"seconds", known(price.time.seconds)},
          {"seconds_range", range(price.time)},
          {"note", price.note}};
}

Json to_json(const PlannedStream& stream) {
  const TextFacts& texts = stream.request.texts;
  Json prices = Json::array();
  for (const Price& price : stream.prices) prices.push_back(to_json(price));
  Json json = {
      {"stream", stream.name},
      {"model", stream.model_path},
      {"dtype", stream.dtype},
      {"rows", texts.rows},
      {"tokens", texts.tokens},
      {"longest_row_tokens", stream.request.longest_row_tokens()},
      {"sampled_rows", stream.survey.sample.size()},
      {"truncated_share", stream.survey.truncated_share},
      {"batch_tokens", stream.planned.batches.budget_tokens},
      {"batch_size", stream.planned.batch_size},
      {"threads", stream.planned.threads},
      {"chunk_size", stream.chunk_rows},
      {"limited_by", to_string(stream.planned.limit)},
      {"memory", to_json(stream.planned.memory)},
      {"memory_share", stream.planned.share},
      {"seconds", known(stream.time.seconds)},
      {"seconds_range", range(stream.time)},
      {"rate",
       {{"flops_per_second", known(stream.rate.flops_per_second)},
        {"measured", stream.rate.measured},
        {"source", stream.rate.source}}},
      {"padding", {{"longest", stream.padding.longest}, {"max_length", stream.padding.max_length}}},
      {"prices", prices}};
  if (stream.micro.batches > 0)
    json["micro_batches"] = {{"rows", stream.micro.rows},
                             {"batches", stream.micro.batches},
                             {"batch_rows", stream.micro.batch_rows}};
  return json;
}

Json to_json(const DevicePlan& plan) {
  const PlannedDevice& device = plan.device;
  Json streams = Json::array();
  for (const PlannedStream& stream : plan.streams) streams.push_back(to_json(stream));
  return {{"device", device.name},
          {"place", device.place},
          {"total_bytes", device.room.total_bytes},
          {"free_bytes", device.room.free_bytes},
          {"safety_margin", device.room.safety_margin},
          {"usable_bytes", device.room.usable_bytes()},
          {"correction", device.room.correction},
          {"in_use", device.users},
          {"host_bytes", plan.host_bytes},
          {"seconds", known(plan.time.seconds)},
          {"seconds_range", range(plan.time)},
          {"streams", streams},
          {"notes", device.notes}};
}

}  // namespace

Json to_json(const ExperimentPlan& plan) {
  Json devices = Json::array();
  for (const DevicePlan& device : plan.devices) devices.push_back(to_json(device));
  Json settings = Json::object();
  for (const PlannedSetting& setting : plan.settings) settings[setting.key] = setting.value;
  Json disk;
  if (plan.disk.peak_bytes > 0) {
    disk = {{"chunk_bytes", plan.disk.chunk_bytes},
            {"final_bytes", plan.disk.final_bytes},
            {"combined_bytes", plan.disk.combined_bytes},
            {"peak_bytes", plan.disk.peak_bytes},
            {"largest_file_bytes", plan.disk.largest_file_bytes},
            {"free_bytes", plan.space.usable_bytes},
            {"path", plan.space.path}};
  }
  return {{"devices", devices},
          {"seconds", known(plan.time.seconds)},
          {"seconds_range", range(plan.time)},
          {"disk", disk},
          {"settings", settings},
          {"notes", plan.notes}};
}

Json to_json(const ProfileResult& profile) {
  return {{"device", profile.device},
          {"rows", profile.rows},
          {"tokens", profile.tokens},
          {"estimated_bytes", profile.estimated_bytes},
          {"measured_bytes", profile.measured_bytes},
          {"tokens_per_second", profile.tokens_per_second},
          {"flops_per_second", profile.flops_per_second},
          {"stored", profile.stored}};
}

}  // namespace encode
