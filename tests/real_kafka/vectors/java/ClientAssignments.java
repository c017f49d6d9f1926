import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/**
 * Assignments of client-side assignors over rounds of rebalances. Each member has an assignor of its own, which learns
 * its assignment and writes the member's user data, as in a consumer.
 */
public final class ClientAssignments {
    private static final String CONSUMER = "org.apache.kafka.clients.consumer.";
    private static final String OLD = CONSUMER + "internals.PartitionAssignor";
    private static final String NEW = CONSUMER + "ConsumerPartitionAssignor";

    /** A member: its assignor, what it owns, and the generation in which it got it. */
    private static final class Member {
        private final Object assignor;
        private List<TopicPartition> owned = new ArrayList<>();
        private int generation = -1;

        private Member(Object assignor) {
            this.assignor = assignor;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> answers = new LinkedHashMap<>();
        for (Map.Entry<String, Object> entry : Json.object(Json.readInput()).entrySet()) {
            Map<String, Object> asked = Json.object(entry.getValue());
            Class<?> type = Reflection.type(CONSUMER + asked.get("assignor"));
            if (type == null) {
                continue;
            }
            Map<String, Member> members = new HashMap<>();
            int generation = 0;
            for (Object each : Json.list(asked.get("rounds"))) {
                Map<String, Object> round = Json.object(each);
                generation++;
                String item = entry.getKey() + "/round " + generation;
                Map<String, List<TopicPartition>> assigned;
                try {
                    assigned = rebalance(type, members, round);
                } catch (InvocationTargetException error) {
                    // A failure of the assignor is its answer, and the end of the group.
                    answers.put(item, error.getCause().getClass().getSimpleName());
                    break;
                }
                answers.put(item, printed(assigned));
                List<Object> missed = Json.list(round.get("missed"));
                members.keySet().retainAll(assigned.keySet());
                for (Map.Entry<String, List<TopicPartition>> share : assigned.entrySet()) {
                    if (!missed.contains(share.getKey())) {
                        learn(members.get(share.getKey()), share.getKey(), share.getValue(), generation);
                    }
                }
            }
        }
        Json.print(answers);
    }

    private static Map<String, List<TopicPartition>> rebalance(
        Class<?> type, Map<String, Member> members, Map<String, Object> round) throws Exception {
        Map<String, Object> subscriptions = new HashMap<>();
        for (Object each : Json.list(round.get("members"))) {
            Map<String, Object> asked = Json.object(each);
            String id = (String) asked.get("id");
            if (!members.containsKey(id)) {
                members.put(id, new Member(Reflection.make(type)));
            }
            subscriptions.put(id, subscription(members.get(id), asked));
        }
        Object assignor = Reflection.make(type);
        Cluster cluster = cluster(round);
        Class<?> group = Reflection.type(NEW + "$GroupSubscription");
        Map<?, ?> assigned;
        if (group == null) {
            assigned = (Map<?, ?>) publicMethod(assignor, "assign", Cluster.class, Map.class)
                .invoke(assignor, cluster, subscriptions);
        } else {
            Object made = Reflection.make(group, subscriptions);
            Object result = publicMethod(assignor, "assign", Cluster.class, group).invoke(assignor, cluster, made);
            assigned = (Map<?, ?>) Reflection.call(result, "groupAssignment");
        }
        Map<String, List<TopicPartition>> found = new TreeMap<>();
        for (Map.Entry<?, ?> entry : assigned.entrySet()) {
            List<TopicPartition> share = new ArrayList<>();
            for (Object partition : (List<?>) Reflection.call(entry.getValue(), "partitions")) {
                share.add((TopicPartition) partition);
            }
            share.sort(Comparator.comparing(TopicPartition::topic).thenComparing(TopicPartition::partition));
            found.put((String) entry.getKey(), share);
        }
        return found;
    }

    private static Method publicMethod(Object object, String name, Class<?>... parameters) throws Exception {
        Method found = object.getClass().getMethod(name, parameters);
        found.setAccessible(true);
        return found;
    }

    private static Object subscription(Member member, Map<String, Object> asked) throws Exception {
        List<String> topics = new ArrayList<>();
        for (Object topic : Json.list(asked.get("topics"))) {
            topics.add((String) topic);
        }
        boolean eager = !member.assignor.getClass().getSimpleName().startsWith("Cooperative");
        List<TopicPartition> owned = eager ? Collections.emptyList() : member.owned;
        ByteBuffer data = userData(member.assignor, topics);
        Object rack = asked.get("rack");
        Object[] all = {topics, data, owned, member.generation, Optional.ofNullable(rack)};
        Class<?> type = Reflection.type(NEW + "$Subscription", OLD + "$Subscription");
        int most = 0;
        for (Constructor<?> constructor : type.getConstructors()) {
            most = Math.max(most, constructor.getParameterCount());
        }
        Object made = Reflection.make(type, java.util.Arrays.copyOf(all, most));
        if (asked.get("instance") != null && Reflection.method(type, "setGroupInstanceId", 1) != null) {
            Reflection.call(made, "setGroupInstanceId", Optional.of(asked.get("instance")));
        }
        return made;
    }

    private static ByteBuffer userData(Object assignor, List<String> topics) throws Exception {
        try {
            Object data = publicMethod(assignor, "subscriptionUserData", java.util.Set.class)
                .invoke(assignor, new HashSet<>(topics));
            return (ByteBuffer) data;
        } catch (NoSuchMethodException error) {
            Object made = publicMethod(assignor, "subscription", java.util.Set.class)
                .invoke(assignor, new HashSet<>(topics));
            return (ByteBuffer) Reflection.call(made, "userData");
        }
    }

    private static void learn(Member member, String id, List<TopicPartition> share, int generation) throws Exception {
        member.owned = share;
        member.generation = generation;
        Class<?> type = Reflection.type(NEW + "$Assignment", OLD + "$Assignment");
        Object assignment = type.getConstructor(List.class).newInstance(share);
        Class<?> metadata = Reflection.type(CONSUMER + "ConsumerGroupMetadata");
        Object assignor = member.assignor;
        if (Reflection.type(NEW) != null) {
            Object group = make4(metadata, generation, id);
            publicMethod(assignor, "onAssignment", type, metadata).invoke(assignor, assignment, group);
            return;
        }
        try {
            publicMethod(assignor, "onAssignment", type, int.class).invoke(assignor, assignment, generation);
        } catch (NoSuchMethodException error) {
            publicMethod(assignor, "onAssignment", type).invoke(assignor, assignment);
        }
    }

    private static Object make4(Class<?> metadata, int generation, String id) throws Exception {
        return metadata.getConstructor(String.class, int.class, String.class, Optional.class)
            .newInstance("group", generation, id, Optional.empty());
    }

    private static Map<String, Object> printed(Map<String, List<TopicPartition>> assigned) {
        Map<String, Object> found = new TreeMap<>();
        for (Map.Entry<String, List<TopicPartition>> entry : assigned.entrySet()) {
            StringBuilder text = new StringBuilder();
            String topic = null;
            for (TopicPartition partition : entry.getValue()) {
                text.append(partition.topic().equals(topic) ? "," : (topic == null ? "" : " ") + partition.topic() + ":");
                text.append(partition.partition());
                topic = partition.topic();
            }
            found.put(entry.getKey(), text.toString());
        }
        return found;
    }

    /** The topics of a round: a topic's partitions are lists of the racks of its replicas, broker n in rack n. */
    private static Cluster cluster(Map<String, Object> round) throws Exception {
        Map<String, Node> nodes = new TreeMap<>();
        List<PartitionInfo> partitions = new ArrayList<>();
        for (Map.Entry<String, Object> topic : Json.object(round.get("topics")).entrySet()) {
            int number = 0;
            for (Object racks : Json.list(topic.getValue())) {
                List<Node> replicas = new ArrayList<>();
                for (char rack : ((String) racks).toCharArray()) {
                    String name = String.valueOf(rack);
                    if (!nodes.containsKey(name)) {
                        nodes.put(name, node(rack, name));
                    }
                    replicas.add(nodes.get(name));
                }
                Node[] all = replicas.toArray(new Node[0]);
                partitions.add(new PartitionInfo(topic.getKey(), number++, all[0], all, all));
            }
        }
        return cluster(new ArrayList<>(nodes.values()), partitions);
    }

    private static Node node(int id, String rack) throws Exception {
        try {
            return Node.class.getConstructor(int.class, String.class, int.class, String.class)
                .newInstance(id, "localhost", 9092, rack);
        } catch (NoSuchMethodException error) {
            return new Node(id, "localhost", 9092);
        }
    }

    private static Cluster cluster(List<Node> nodes, List<PartitionInfo> partitions) throws Exception {
        for (int parameters : new int[] {5, 3, 2}) {
            for (Constructor<?> made : Cluster.class.getConstructors()) {
                if (made.getParameterCount() == parameters) {
                    Object[] all = {"cluster", nodes, partitions, Collections.emptySet(), Collections.emptySet()};
                    Object[] few = {nodes, partitions, Collections.emptySet()};
                    return (Cluster) made.newInstance(parameters == 5 ? all : java.util.Arrays.copyOf(few, parameters));
                }
            }
        }
        throw new IllegalStateException("no constructor of Cluster");
    }
}
