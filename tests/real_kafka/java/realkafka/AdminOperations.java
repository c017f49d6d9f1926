package realkafka;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TransactionListing;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidRequestException;

/** Operations of an administrator, each in a thread of its own; the answer has the operation's id. */
final class AdminOperations {
    private final Admin admin;
    private final Lines answers;
    private final ExecutorService threads = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "admin");
        thread.setDaemon(true);
        return thread;
    });

    AdminOperations(String bootstrap, Lines answers) {
        admin = Admin.create(Map.of("bootstrap.servers", bootstrap, "client.id", "admin"));
        this.answers = answers;
    }

    void perform(String id, String verb, List<String> pairs) {
        TreeMap<String, String> given = new TreeMap<>();
        for (String pair : pairs) {
            int at = pair.indexOf('=');
            given.put(pair.substring(0, at), pair.substring(at + 1));
        }
        threads.execute(() -> {
            try {
                answers.write("event", "answer", "id", id, "error", "", "result", call(verb, given));
            } catch (Exception error) {
                answers.write("event", "answer", "id", id, "error", Lines.code(error), "exception", Lines.kind(error),
                        "message", String.valueOf(Lines.cause(error).getMessage()));
            }
        });
    }

    private Object call(String verb, TreeMap<String, String> given) throws Exception {
        switch (verb) {
            case "create_topic" -> admin.createTopics(List.of(newTopic(given))).all().get();
            case "delete_topic" -> admin.deleteTopics(List.of(given.get("topic"))).all().get();
            case "add_partitions" -> {
                int total = Integer.parseInt(given.get("total"));
                NewPartitions wanted = given.containsKey("placement")
                        ? NewPartitions.increaseTo(total, rows(given.get("placement"))) : NewPartitions.increaseTo(total);
                admin.createPartitions(Map.of(given.get("topic"), wanted)).all().get();
            }
            case "reassign" -> admin.alterPartitionReassignments(
                    Map.of(partition(given), Optional.of(new NewPartitionReassignment(ids(given.get("brokers"))))))
                    .all().get();
            case "cancel_reassignment" ->
                admin.alterPartitionReassignments(Map.of(partition(given), Optional.empty())).all().get();
            case "reassigning" -> {
                List<String> found = new ArrayList<>();
                admin.listPartitionReassignments().reassignments().get().keySet().forEach(each -> found.add("" + each));
                return found;
            }
            case "elect_leaders" -> elect(given);
            case "alter_configs" -> alterConfigs(given);
            case "delete_records" -> admin.deleteRecords(Map.of(partition(given),
                    RecordsToDelete.beforeOffset(Long.parseLong(given.get("before"))))).all().get();
            case "describe_group" -> {
                return group(given.get("group"));
            }
            case "alter_offsets" -> alterOffsets(given);
            case "list_groups" -> {
                List<String> found = new ArrayList<>();
                admin.listConsumerGroups().all().get().forEach(each -> found.add(each.groupId()));
                return found;
            }
            case "delete_group" -> admin.deleteConsumerGroups(List.of(given.get("group"))).all().get();
            case "list_transactions" -> {
                return transactions();
            }
            case "describe_producers" -> {
                List<Object> found = new ArrayList<>();
                producers(partition(given)).forEach(each -> found.add(shown(each)));
                return found;
            }
            case "find_hanging" -> {
                List<Object> found = new ArrayList<>();
                for (String name : given.get("partitions").split(",")) {
                    hanging(partition(name), given).forEach(each -> found.add(shown(each)));
                }
                return found;
            }
            case "abort_transaction" -> abortTransaction(given);
            case "ends" -> {
                return ends(given);
            }
            case "quorum" -> {
                return admin.describeMetadataQuorum().quorumInfo().get().leaderId();
            }
            case "cluster_id" -> {
                return admin.describeCluster().clusterId().get();
            }
            default -> throw new IllegalArgumentException("no such operation: " + verb);
        }
        return null;
    }

    private static NewTopic newTopic(TreeMap<String, String> given) {
        NewTopic topic;
        if (given.containsKey("placement")) {
            Map<Integer, List<Integer>> placement = new HashMap<>();
            List<List<Integer>> rows = rows(given.get("placement"));
            for (int i = 0; i < rows.size(); i++) {
                placement.put(i, rows.get(i));
            }
            topic = new NewTopic(given.get("topic"), placement);
        } else {
            topic = new NewTopic(given.get("topic"), optional(given, "partitions").map(Integer::valueOf),
                    optional(given, "replication").map(Short::valueOf));
        }
        Map<String, String> config = new TreeMap<>();
        given.forEach((key, value) -> {
            if (key.startsWith("set.")) {
                config.put(key.substring(4), value);
            }
        });
        return topic.configs(config);
    }

    private void elect(TreeMap<String, String> given) throws Exception {
        ElectionType type = given.get("unclean").equals("true") ? ElectionType.UNCLEAN : ElectionType.PREFERRED;
        Set<TopicPartition> partitions = given.containsKey("partition") ? Set.of(partition(given)) : null;
        Map<TopicPartition, Optional<Throwable>> found = admin.electLeaders(type, partitions).partitions().get();
        for (Optional<Throwable> error : found.values()) {
            if (error.isPresent() && partitions != null) {
                throw new java.util.concurrent.ExecutionException(error.get());
            }
        }
    }

    /** Changes configs of "topic", or of "broker" (empty: the default of all brokers). */
    private void alterConfigs(TreeMap<String, String> given) throws Exception {
        ConfigResource resource = given.containsKey("topic")
                ? new ConfigResource(ConfigResource.Type.TOPIC, given.get("topic"))
                : new ConfigResource(ConfigResource.Type.BROKER, given.get("broker"));
        Collection<AlterConfigOp> changes = new ArrayList<>();
        given.forEach((key, value) -> {
            if (key.startsWith("set.")) {
                changes.add(new AlterConfigOp(new ConfigEntry(key.substring(4), value), AlterConfigOp.OpType.SET));
            } else if (key.startsWith("reset.")) {
                changes.add(new AlterConfigOp(new ConfigEntry(key.substring(6), ""), AlterConfigOp.OpType.DELETE));
            }
        });
        admin.incrementalAlterConfigs(Map.of(resource, changes)).all().get();
    }

    private Object group(String name) throws Exception {
        var group = admin.describeConsumerGroups(List.of(name)).all().get().get(name);
        Map<String, Object> offsets = new TreeMap<>();
        admin.listConsumerGroupOffsets(name).partitionsToOffsetAndMetadata().get()
                .forEach((partition, offset) -> offsets.put(partition.toString(), offset == null ? -1 : offset.offset()));
        Map<String, Object> found = new LinkedHashMap<>();
        String state = group.state().toString();
        found.put("state", state);
        found.put("members", group.members().size());
        found.put("coordinator", group.coordinator() == null ? -1 : group.coordinator().id());
        found.put("committed", offsets);
        return found;
    }

    private void alterOffsets(TreeMap<String, String> given) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        given.forEach((key, value) -> {
            if (key.startsWith("to.")) {
                offsets.put(partition(key.substring(3)), new OffsetAndMetadata(Long.parseLong(value)));
            }
        });
        admin.alterConsumerGroupOffsets(given.get("group"), offsets).all().get();
    }

    private List<ProducerState> producers(TopicPartition partition) throws Exception {
        return admin.describeProducers(Set.of(partition)).partitionResult(partition).get().activeProducers();
    }

    private static Map<String, Object> shown(ProducerState state) {
        Map<String, Object> found = new TreeMap<>();
        found.put("producer_id", state.producerId());
        found.put("epoch", state.producerEpoch());
        found.put("start_offset", state.currentTransactionStartOffset().orElse(-1));
        found.put("last_timestamp_ms", state.lastTimestamp());
        return found;
    }

    private Map<String, Object> transactions() throws Exception {
        Map<String, Object> found = new TreeMap<>();
        admin.listTransactions().all().get()
                .forEach(each -> found.put(each.transactionalId(), each.state().toString() + " " + each.producerId()));
        return found;
    }

    /** Returns open transactions that are older than any may be, and that no coordinator knows as open. */
    private List<ProducerState> hanging(TopicPartition partition, TreeMap<String, String> given) throws Exception {
        long oldest = System.currentTimeMillis() - Long.parseLong(given.get("max_transaction_timeout_ms"));
        Set<Long> known = new java.util.HashSet<>();
        for (TransactionListing listing : admin.listTransactions().all().get()) {
            if (listing.state() == TransactionState.ONGOING || listing.state().toString().startsWith("Prepare")) {
                known.add(listing.producerId());
            }
        }
        List<ProducerState> found = new ArrayList<>();
        for (ProducerState state : producers(partition)) {
            boolean open = state.currentTransactionStartOffset().isPresent();
            if (open && state.lastTimestamp() < oldest && !known.contains(state.producerId())) {
                found.add(state);
            }
        }
        return found;
    }

    private void abortTransaction(TreeMap<String, String> given) throws Exception {
        TopicPartition partition = partition(given);
        long start = Long.parseLong(given.get("start_offset"));
        for (ProducerState state : start < 0 ? hanging(partition, given) : producers(partition)) {
            if (start < 0 || state.currentTransactionStartOffset().orElse(-1) == start) {
                admin.abortTransaction(new AbortTransactionSpec(partition, state.producerId(), (short) state.producerEpoch(),
                        state.coordinatorEpoch().orElse(-1))).all().get();
                return;
            }
        }
        throw new InvalidRequestException("there is no such transaction in " + partition);
    }

    private Map<String, Object> ends(TreeMap<String, String> given) throws Exception {
        OffsetSpec spec = given.getOrDefault("spec", "latest").equals("latest") ? OffsetSpec.latest() : OffsetSpec.earliest();
        Map<TopicPartition, OffsetSpec> wanted = new HashMap<>();
        for (String name : given.get("partitions").split(",")) {
            wanted.put(partition(name), spec);
        }
        Map<String, Object> found = new TreeMap<>();
        admin.listOffsets(wanted).all().get().forEach((partition, info) -> found.put(partition.toString(), info.offset()));
        return found;
    }

    private static Optional<String> optional(TreeMap<String, String> given, String key) {
        return Optional.ofNullable(given.get(key));
    }

    private static TopicPartition partition(TreeMap<String, String> given) {
        return partition(given.get("partition"));
    }

    private static TopicPartition partition(String name) {
        int at = name.lastIndexOf('-');
        return new TopicPartition(name.substring(0, at), Integer.parseInt(name.substring(at + 1)));
    }

    private static List<Integer> ids(String text) {
        List<Integer> found = new ArrayList<>();
        for (String id : text.split(",")) {
            found.add(Integer.valueOf(id));
        }
        return found;
    }

    private static List<List<Integer>> rows(String text) {
        List<List<Integer>> found = new ArrayList<>();
        for (String row : text.split(";")) {
            found.add(ids(row));
        }
        return found;
    }
}
