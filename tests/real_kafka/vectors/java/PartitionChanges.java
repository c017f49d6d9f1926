import java.lang.reflect.Constructor;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.IntPredicate;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

/** Changes of a partition by PartitionChangeBuilder, called as ReplicationControlManager does. */
public final class PartitionChanges {
    private static final Uuid TOPIC = new Uuid(7, 7);
    private static final String[][] TARGETS = {
        {"target_isr", "setTargetIsr"}, {"target_replicas", "setTargetReplicas"}, {"target_adding", "setTargetAdding"},
        {"target_removing", "setTargetRemoving"}, {"unclean_shutdown", "setUncleanShutdownReplicas"},
    };

    public static void main(String[] arguments) throws Exception {
        Cases.answer(PartitionChanges::change);
    }

    private static Object change(Map<String, String> fields) throws Exception {
        PartitionRegistration before = registration(fields);
        PartitionChangeBuilder builder = builder(before, fields);
        builder.setElection(PartitionChangeBuilder.Election.valueOf(fields.get("election")));
        for (String[] target : TARGETS) {
            if (fields.containsKey(target[0])) {
                Reflection.call(builder, target[1], Cases.numbers(fields.get(target[0])));
            }
        }
        if (fields.containsKey("target_recovering")) {
            builder.setTargetLeaderRecoveryState(recovery(fields.get("target_recovering")));
        }
        Optional<ApiMessageAndVersion> built = builder.build();
        return built.isPresent() ? text(before.merge((PartitionChangeRecord) built.get().message())) : "unchanged";
    }

    private static PartitionChangeBuilder builder(PartitionRegistration before, Map<String, String> fields)
            throws Exception {
        List<Integer> active = Cases.numbers(fields.get("active"));
        int minimum = Math.min(Integer.parseInt(fields.get("min_isr")), before.replicas.length);
        boolean elr = fields.get("kip_966").equals("on");
        Constructor<?> constructor = PartitionChangeBuilder.class.getConstructors()[0];
        List<Object> given = new ArrayList<>();
        for (Class<?> type : constructor.getParameterTypes()) {
            boolean isId = type == int.class && !given.contains(0);
            given.add(type == PartitionRegistration.class ? before : type == Uuid.class ? TOPIC
                : type == int.class ? (Object) (isId ? 0 : minimum)
                : type == IntPredicate.class ? (IntPredicate) active::contains
                : type == Function.class ? (Function<Integer, Boolean>) active::contains
                : type == MetadataVersion.class ? newest() : given.size() == 6 ? elr : true);
        }
        PartitionChangeBuilder builder = (PartitionChangeBuilder) constructor.newInstance(given.toArray());
        if (Reflection.method(PartitionChangeBuilder.class, "setEligibleLeaderReplicasEnabled", 1) != null) {
            Reflection.call(builder, "setEligibleLeaderReplicasEnabled", elr);
        }
        Class<?> directories = Reflection.type("org.apache.kafka.metadata.placement.DefaultDirProvider");
        if (directories != null) {
            Object unassigned = Proxy.newProxyInstance(directories.getClassLoader(), new Class<?>[] {directories},
                (proxy, method, broker) -> new Uuid(0, 0));
            Reflection.call(builder, "setDefaultDirProvider", unassigned);
        }
        return builder;
    }

    private static Object newest() throws Exception {
        boolean isNamed = Reflection.method(MetadataVersion.class, "latestProduction", 0) != null;
        return Reflection.call(MetadataVersion.class, isNamed ? "latestProduction" : "latest");
    }

    private static LeaderRecoveryState recovery(String text) {
        return text.equals("yes") ? LeaderRecoveryState.RECOVERING : LeaderRecoveryState.RECOVERED;
    }

    private static PartitionRegistration registration(Map<String, String> fields) throws Exception {
        PartitionRecord record = new PartitionRecord()
            .setTopicId(TOPIC).setPartitionId(0)
            .setLeader(Integer.parseInt(fields.get("leader")))
            .setLeaderEpoch(Integer.parseInt(fields.get("leader_epoch")))
            .setPartitionEpoch(Integer.parseInt(fields.get("partition_epoch")))
            .setIsr(Cases.numbers(fields.get("isr"))).setReplicas(Cases.numbers(fields.get("replicas")))
            .setAddingReplicas(Cases.numbers(fields.get("adding")))
            .setRemovingReplicas(Cases.numbers(fields.get("removing")))
            .setLeaderRecoveryState(recovery(fields.get("recovering")).value());
        if (fields.get("kip_966").equals("on")) {
            Reflection.call(record, "setEligibleLeaderReplicas", Cases.numbers(fields.get("elr")));
            Reflection.call(record, "setLastKnownElr", Cases.numbers(fields.get("last_known")));
        }
        return new PartitionRegistration(record);
    }

    private static String text(PartitionRegistration after) throws Exception {
        boolean hasElr = Reflection.method(PartitionRecord.class, "lastKnownElr", 0) != null;
        return "leader=" + after.leader + " leader_epoch=" + after.leaderEpoch
            + " partition_epoch=" + after.partitionEpoch + " isr=" + joined(after.isr)
            + " replicas=" + joined(after.replicas) + " adding=" + joined(after.addingReplicas)
            + " removing=" + joined(after.removingReplicas)
            + " elr=" + (hasElr ? joined((int[]) Reflection.get(after, "elr")) : "")
            + " last_known=" + (hasElr ? joined((int[]) Reflection.get(after, "lastKnownElr")) : "")
            + " recovering=" + (after.leaderRecoveryState == LeaderRecoveryState.RECOVERING ? "yes" : "no");
    }

    private static String joined(int[] brokers) {
        return Cases.numbers(brokers).toString().replaceAll("[^0-9,-]", "");
    }
}
