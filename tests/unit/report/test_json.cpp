// The JSON report: its fields, and that every report is valid under the published schema.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "report/json.h"
#include "unit/report/sample_results.h"

namespace coequal::report {
namespace {

RunResult sample_run() {
  RunResult run;
  run.tool.version = "1.2.3";
  run.tool.compiler = "nvcc 12.4";
  run.instances = {sample_equivalent(), sample_inequivalent(), sample_defect(),
                   sample_refused(),    sample_unknown(),      sample_invalid()};
  return run;
}

// Writes the text to a file and asks scripts/validate-report.
bool is_valid(const std::string& text) {
  std::string path = (std::filesystem::temp_directory_path() / "coequal-report-XXXXXX").string();
  int file = mkstemp(path.data());
  if (file < 0) return false;
  close(file);
  std::ofstream(path) << text;
  int status =
      std::system((std::string(COEQUAL_ROOT) + "/scripts/validate-report " + path).c_str());
  std::filesystem::remove(path);
  return status == 0;
}

TEST(JsonReport, IsValidUnderItsSchema) {
  EXPECT_TRUE(is_valid(write_json(sample_run())));
  EXPECT_TRUE(is_valid(write_json(RunResult{})));
}

TEST(JsonReport, TheSchemaRejectsWhatIsNoReport) {
  nlohmann::json report = nlohmann::json::parse(write_json(sample_run()));
  report["instances"][2]["defects"][0]["kind"] = "shared-rage";
  EXPECT_FALSE(is_valid(report.dump()));
  report = nlohmann::json::parse(write_json(sample_run()));
  report["instances"][0].erase("cells");
  EXPECT_FALSE(is_valid(report.dump()));
}

TEST(JsonReport, CarriesTheFields) {
  nlohmann::json report = nlohmann::json::parse(write_json(sample_run()));
  EXPECT_EQ(report["tool"]["name"], "coequal");
  EXPECT_EQ(report["tool"]["version"], "1.2.3");
  EXPECT_EQ(report["verdict"], "invalid");
  ASSERT_EQ(report["instances"].size(), 6u);

  const nlohmann::json& equivalent = report["instances"][0];
  EXPECT_EQ(equivalent["verdict"], "equivalent");
  EXPECT_EQ(equivalent["expected"]["verdict"], "equivalent");
  EXPECT_EQ(equivalent["as_expected"], true);
  EXPECT_EQ(equivalent["cells"]["proved_exact"], 1048576);
  EXPECT_EQ(equivalent["exclusions"][0]["condition"], "n = 0");
  EXPECT_EQ(equivalent["exclusions"][0]["side"], "b");
  EXPECT_EQ(equivalent["assumptions"][1]["name"], "constant-snap");
  EXPECT_EQ(equivalent["seconds"]["decide"], 1.5);
  EXPECT_TRUE(equivalent["witness"].is_null());

  const nlohmann::json& inequivalent = report["instances"][1];
  EXPECT_EQ(inequivalent["witness"]["cell"], "out[3,5]");
  EXPECT_EQ(inequivalent["witness"]["a"]["exact"], "7/3");
  EXPECT_EQ(inequivalent["witness"]["b"]["line"], 31);
  EXPECT_EQ(inequivalent["witness"]["inputs"][0]["index"], "3,5");
  EXPECT_TRUE(inequivalent["expected"].is_null());
  EXPECT_TRUE(inequivalent["as_expected"].is_null());

  const nlohmann::json& defect = report["instances"][2]["defects"][0];
  EXPECT_EQ(defect["kind"], "shared-race");
  EXPECT_EQ(defect["program"], "a");
  EXPECT_EQ(defect["accesses"][0]["thread"], (nlohmann::json{16, 0, 0}));
  EXPECT_EQ(defect["accesses"][1]["block"], (nlohmann::json{4, 0, 1}));
  EXPECT_EQ(defect["accesses"][0]["tensor"], "stage");
  EXPECT_EQ(defect["accesses"][0]["index"], "64");
  EXPECT_EQ(defect["accesses"][0]["line"], 12);
  EXPECT_EQ(defect["also"].size(), 1u);

  const nlohmann::json& unknown = report["instances"][4];
  EXPECT_EQ(unknown["proof"]["tier"], "probabilistic");
  EXPECT_EQ(unknown["proof"]["bound"], std::ldexp(1.0, -103));
  EXPECT_EQ(unknown["proof"]["seed"], 7);
  EXPECT_EQ(unknown["vacuous"], nlohmann::json::array({"b"}));
  EXPECT_TRUE(unknown["undecided"][0]["file"].is_null());
  EXPECT_TRUE(unknown["undecided"][0]["line"].is_null());

  EXPECT_EQ(report["instances"][5]["problems"][0]["code"], "InstanceInvalid");
}

TEST(JsonReport, TextThatIsNotUtf8IsReplaced) {
  RunResult run;
  run.instances = {sample_equivalent()};
  run.instances[0].title = "\xff\xfe";
  EXPECT_TRUE(is_valid(write_json(run)));
}

}  // namespace
}  // namespace coequal::report
