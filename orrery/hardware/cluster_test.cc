#include "orrery/hardware/cluster.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "orrery/base/document/yaml_fields.h"
#include "orrery/hardware/gpu.h"

namespace orrery::hardware {
namespace {

// A catalogue of one entry, with one line replaced or taken out.
std::string Catalogue(std::string_view line = "", std::string_view replacement = "") {
  std::string yaml = R"yaml(latencies_ns: {nvswitch: 50, infiniband: 1000}
clusters:
  - name: Test
    match: [[test]]
    gpu: H100
    gpus_per_node: 8
    island: {kind: nvswitch, gpus: 8, gpu_gbytes_per_second: 450, reduces_in_switch: true}
    nics: {kind: infiniband, per_node: 8, gbits_per_second: 400}
    fabric: {preset: rail_optimised, nodes_per_block: 32}
    cpu: intel
    pcie_generation: 5
    source: a paper
)yaml";
  if (!line.empty()) {
    const std::size_t at = yaml.find(line);
    EXPECT_NE(at, std::string::npos) << line;
    yaml.replace(at, line.size(), replacement);
  }
  return yaml;
}

std::string ErrorOf(const std::string& yaml) {
  const auto clusters = ReadClusters(yaml);
  return clusters ? "no error" : clusters.error().message();
}

TEST(ClusterTest, FindsNamesInAnyCaseAndOtherSpellings) {
  EXPECT_EQ(FindCluster("dgx h100")->name, "DGX H100");
  EXPECT_EQ(FindCluster("PERLMUTTER")->gpus_per_node, 4);
  EXPECT_EQ(FindCluster("Standard_ND96asr_v4"), FindCluster("Azure ND A100 v4"));
  EXPECT_EQ(FindCluster("azure-nd-a100-v4"), FindCluster("Azure ND A100 v4"));
  EXPECT_EQ(FindCluster("H100 80GB (p5.48xlarge)")->name, "AWS p5");
  EXPECT_EQ(FindCluster("A100-SXM4-80GB (p4de)")->name, "AWS p4de");
  EXPECT_EQ(FindCluster("A100-SXM4-40GB (BM.GPU.B4.8)")->name, "OCI BM.GPU.B4.8");
  EXPECT_EQ(FindCluster("MI300X (BM.GPU.MI300X.8)")->name, "OCI BM.GPU.MI300X");
  EXPECT_EQ(FindCluster("H100 80GB HBM3 (DGX)")->name, "DGX H100");
  EXPECT_EQ(FindCluster("NVIDIA H800")->name, "HGX H800");
  EXPECT_EQ(FindCluster("a3-megagpu-8g")->name, "GCP a3-mega");
  EXPECT_EQ(FindCluster("jean-zay")->name, "Jean Zay V100");
  EXPECT_EQ(FindCluster("Jean Zay A100")->name, "Jean Zay A100");
  EXPECT_EQ(FindCluster("abacus"), nullptr);
  EXPECT_EQ(FindCluster(""), nullptr);
}

TEST(ClusterTest, UnitsAreBytesPerSecond) {
  const Cluster& azure = *FindCluster("Azure ND A100 v4");
  EXPECT_EQ(azure.island.per_gpu.bytes_per_second, 300e9);
  EXPECT_EQ(azure.nics.bandwidth.bytes_per_second, 25e9);  // 200 Gb/s
  EXPECT_EQ(azure.cpu, CpuVendor::kAmd);
}

TEST(ClusterTest, AnIslandMaySpanNodes) {
  const Cluster& rack = *FindCluster("GB200 NVL72");
  EXPECT_EQ(rack.gpus_per_node, 4);
  EXPECT_EQ(rack.island.gpus, 72);
  EXPECT_TRUE(rack.island.reduces_in_switch);
}

// Both catalogues have the vendor's bandwidth of a GPU's links.
TEST(ClusterTest, IslandsAreAsFastAsTheLinksOfTheirGpus) {
  EXPECT_GE(ClusterCatalogue().size(), 20u);
  for (const Cluster& cluster : ClusterCatalogue()) {
    const Gpu& gpu = *FindGpu(cluster.gpu);
    const Bandwidth links = cluster.island.kind == IslandKind::kPcie ? gpu.host_link : gpu.link;
    EXPECT_EQ(cluster.island.per_gpu, links) << cluster.name;
    EXPECT_GT(cluster.island.latency.nanoseconds, 0) << cluster.name;
  }
}

TEST(ClusterTest, EveryEntryIsFoundByItsNameAndByItsWords) {
  for (const Cluster& cluster : ClusterCatalogue()) {
    EXPECT_EQ(FindCluster(cluster.name), &cluster);
    EXPECT_TRUE(IsCalled(cluster.name, cluster.match)) << cluster.name;
  }
}

TEST(ClusterTest, WhatIsLeftOutHasItsDefault) {
  const auto clusters = ReadClusters(Catalogue());
  ASSERT_TRUE(clusters) << clusters.error().message();
  const Cluster& cluster = clusters->front();
  EXPECT_EQ(cluster.nodes, 0);
  EXPECT_EQ(cluster.nccl_version, "");
  EXPECT_EQ(cluster.fabric.oversubscription, 1);
  EXPECT_EQ(cluster.fabric.radix, 0);
  EXPECT_EQ(cluster.island.latency.nanoseconds, 50);
  EXPECT_EQ(cluster.nics.latency.nanoseconds, 1000);
}

TEST(ClusterTest, AnEntryMayHaveItsOwnLatency) {
  const auto clusters =
      ReadClusters(Catalogue("gbits_per_second: 400", "gbits_per_second: 400, latency_ns: 700"));
  ASSERT_TRUE(clusters) << clusters.error().message();
  EXPECT_EQ(clusters->front().nics.latency.nanoseconds, 700);
}

TEST(ClusterTest, ErrorsNameTheEntryAndTheField) {
  EXPECT_EQ(ErrorOf(Catalogue("gpus_per_node: 8", "gpus_per_node: eight")),
            "cluster 'Test': gpus_per_node must be a whole number of at least 1, not 'eight'");
  EXPECT_EQ(ErrorOf(Catalogue("gpu: H100", "gpu: H300")),
            "cluster 'Test': gpu must be a name in the catalogue of GPUs, not 'H300'");
  EXPECT_EQ(ErrorOf(Catalogue("450", "0")),
            "cluster 'Test': island: gpu_gbytes_per_second must be a number above 0, not '0'");
  EXPECT_EQ(ErrorOf(Catalogue("450", ".inf")),
            "cluster 'Test': island: gpu_gbytes_per_second must be a number above 0, not '.inf'");
  EXPECT_EQ(ErrorOf(Catalogue("cpu: intel", "cpu: z80")),
            "cluster 'Test': cpu must be one of intel, amd, nvidia, not 'z80'");
  EXPECT_EQ(ErrorOf(Catalogue("    source: a paper\n", "")), "cluster 'Test': source is missing");
  EXPECT_EQ(ErrorOf(Catalogue("per_node: 8, gb", "per_nod: 8, gb")),
            "cluster 'Test': nics: per_node is missing");
  EXPECT_EQ(
      ErrorOf(Catalogue("nodes_per_block", "nodes_in_block")),
      "cluster 'Test': fabric: nodes_in_block is not a field that is known here; the nearest is "
      "nodes_per_block");
  EXPECT_EQ(ErrorOf(Catalogue("[[test]]", "test")),
            "cluster 'Test': match must be a list of lists of words, not 'something else'");
  EXPECT_EQ(ErrorOf(Catalogue("name: Test", "nome: Test")), "cluster 1: name is missing");
}

TEST(ClusterTest, FieldsMustFitTogether) {
  EXPECT_EQ(ErrorOf(Catalogue("gpus: 8,", "gpus: 12,")),
            "cluster 'Test': island must have the GPUs of whole nodes, not '12 of 8 a node'");
  EXPECT_EQ(ErrorOf(Catalogue("rail_optimised, nodes_per_block: 32", "none")),
            "cluster 'Test': fabric must be named where there are NICs, not 'none'");
}

TEST(ClusterTest, TextThatIsNoCatalogueIsRefused) {
  EXPECT_EQ(ErrorOf("clusters: ["),
            "catalogue of clusters: line 1: end of sequence flow not found");
  EXPECT_EQ(ErrorOf(""), "catalogue of clusters: latencies_ns is missing");
  EXPECT_EQ(ErrorOf("latencies_ns: {}\nclusters: 3"),
            "catalogue of clusters: clusters must be a list of clusters, not 'something else'");
  EXPECT_EQ(ErrorOf(Catalogue() + Catalogue().substr(Catalogue().find("  - name"))),
            "cluster 'Test': name is used twice");
}

Cluster Overridden(const std::string& yaml, std::optional<Error>& error) {
  YamlFields fields(YAML::Load(yaml), "cluster", error);
  Cluster cluster = OverrideCluster(fields, *FindCluster("DGX H100"));
  fields.RefuseOthers();
  return cluster;
}

TEST(ClusterTest, PartsAreOverridden) {
  std::optional<Error> error;
  const Cluster cluster = Overridden(
      "{gpus_per_node: 4, nics: {gbits_per_second: 200}, island: {latency_ns: 7}, "
      "fabric: {oversubscription: 2}, nodes: 3}",
      error);
  EXPECT_FALSE(error.has_value());
  EXPECT_EQ(cluster.gpus_per_node, 4);
  EXPECT_EQ(cluster.island.gpus, 4);
  EXPECT_EQ(cluster.island.latency.nanoseconds, 7);
  EXPECT_EQ(cluster.nics.bandwidth.bytes_per_second, 25e9);
  EXPECT_EQ(cluster.nics.kind, NetworkKind::kInfiniband);
  EXPECT_EQ(cluster.fabric.oversubscription, 2);
  EXPECT_EQ(cluster.nodes, 3);
}

TEST(ClusterTest, WrongOverridesAreNamed) {
  std::optional<Error> error;
  (void)Overridden("{island: {gpu: 3}}", error);
  EXPECT_EQ(error->message(),
            "cluster: island: gpu is not a field that is known here; the nearest is gpus");
  error.reset();
  (void)Overridden("{island: {gpus: 3}}", error);
  EXPECT_EQ(error->message(),
            "cluster: island must have the GPUs of whole nodes, not '3 of 8 a node'");
}

}  // namespace
}  // namespace orrery::hardware
