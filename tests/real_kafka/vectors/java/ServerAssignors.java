import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;

/** Assignments of the group coordinator's assignors (KIP-848): topics have numbers, members letters. */
public final class ServerAssignors {
    private static final String PACKAGE = "org.apache.kafka.coordinator.group.";
    /** Inverse of 31, by which Objects.hash multiplies what it has. */
    private static final int INVERSE = -1108378657;
    /** Hash of the first argument of Objects.hash that gives 0 for the second. */
    private static final int FIRST = -31 * 31;
    /** Whether the case is one of the uniform assignor with different subscriptions. */
    private static boolean byPartition;

    public static void main(String[] arguments) throws Exception {
        Cases.answer(ServerAssignors::assign);
    }

    private static Object assign(Map<String, String> fields) throws Exception {
        String[] members = fields.get("members").split(",");
        Set<String> subscriptions = new HashSet<>();
        for (String text : members) {
            subscriptions.add(text.split("/", -1)[1]);
        }
        boolean isUniform = fields.get("assignor").equals("uniform");
        byPartition = isUniform && subscriptions.size() > 1;
        Map<Uuid, Integer> sizes = new HashMap<>();
        for (String topic : fields.get("topics").split(",")) {
            sizes.put(topic(topic.split(":")[0]), Integer.valueOf(topic.split(":")[1]));
        }
        Object made = Reflection.make(Class.forName(PACKAGE + "assignor." + (isUniform ? "UniformAssignor" : "RangeAssignor")));
        try {
            Object group = group(members, subscriptions.size() == 1);
            return text(Reflection.call(Reflection.call(made, "assign", group, topics(sizes)), "members"), members);
        } catch (RuntimeException error) {
            if (error.getClass().getSimpleName().equals("PartitionAssignorException")) {
                return "PartitionAssignorException";
            }
            throw error;
        }
    }

    /** The specification of a group, as each release has it. */
    private static Object group(String[] texts, boolean sameSubscriptions) throws Exception {
        Map<String, Object> members = new HashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        for (String text : texts) {
            String[] parts = text.split("/", -1);
            members.put(parts[0], member(parts, owners));
        }
        Class<?> first = Reflection.type(PACKAGE + "assignor.AssignmentSpec");
        if (first != null) {
            return Reflection.make(first, members);
        }
        Object name = Reflection.get(Class.forName(PACKAGE + "api.assignor.SubscriptionType"),
            sameSubscriptions ? "HOMOGENEOUS" : "HETEROGENEOUS");
        return Reflection.make(modern("GroupSpecImpl"), members, name, owners);
    }

    private static Class<?> modern(String name) {
        return Reflection.type(PACKAGE + "modern." + name, PACKAGE + "consumer." + name);
    }

    private static Object member(String[] parts, Map<Uuid, Map<Integer, String>> owners) throws Exception {
        Set<Uuid> subscribed = new HashSet<>();
        for (String number : parts[1].split("\\+")) {
            subscribed.add(topic(number));
        }
        Map<Uuid, Set<Integer>> owned = new HashMap<>();
        for (String partition : parts[2].isEmpty() ? new String[0] : parts[2].split("\\+")) {
            Uuid topic = topic(partition.split("\\.")[0]);
            int number = Integer.parseInt(partition.split("\\.")[1]);
            owned.computeIfAbsent(topic, key -> new HashSet<>()).add(number);
            owners.computeIfAbsent(topic, key -> new HashMap<>()).put(number, parts[0]);
        }
        Optional<String> instance = parts[3].isEmpty() ? Optional.empty() : Optional.of(parts[3]);
        Class<?> first = Reflection.type(PACKAGE + "assignor.AssignmentMemberSpec");
        if (first != null) {
            return Reflection.make(first, instance, Optional.empty(), subscribed, owned);
        }
        Object assignment = Reflection.make(modern("Assignment"), owned);
        Class<?> type = modern("MemberSubscriptionAndAssignmentImpl");
        return type.getConstructors()[0].getParameterCount() == 3
            ? Reflection.make(type, Optional.empty(), subscribed, assignment)
            : Reflection.make(type, Optional.empty(), instance, subscribed, assignment);
    }

    private static Object topics(Map<Uuid, Integer> sizes) {
        Class<?> type = Reflection.type(
            PACKAGE + "api.assignor.SubscribedTopicDescriber", PACKAGE + "assignor.SubscribedTopicDescriber");
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) ->
            method.getName().equals("numPartitions") ? (Object) sizes.getOrDefault(arguments[0], -1) : Collections.emptySet());
    }

    private static String text(Object assigned, String[] members) throws Exception {
        Map<String, Object> all = new TreeMap<>();
        for (String member : members) {
            all.put(member.substring(0, member.indexOf('/')), null);
        }
        for (Map.Entry<?, ?> member : ((Map<?, ?>) assigned).entrySet()) {
            all.put((String) member.getKey(), member.getValue());
        }
        List<String> found = new ArrayList<>();
        for (Map.Entry<String, Object> member : all.entrySet()) {
            found.add(member.getKey() + "=" + String.join("+", partitions(member.getValue())));
        }
        return String.join(" ", found);
    }

    private static Set<String> partitions(Object member) throws Exception {
        Set<String> found = new TreeSet<>(java.util.Comparator.comparing((String text) -> text.charAt(0))
            .thenComparing(text -> Integer.valueOf(text.substring(2))));
        if (member == null) {
            return found;
        }
        boolean isOld = Reflection.method(member.getClass(), "targetPartitions", 0) != null;
        Map<?, ?> assigned = (Map<?, ?>) Reflection.call(member, isOld ? "targetPartitions" : "partitions");
        for (Map.Entry<?, ?> topic : assigned.entrySet()) {
            Uuid id = (Uuid) topic.getKey();
            long number = id.getMostSignificantBits() == 0 ? id.getLeastSignificantBits() : id.getMostSignificantBits();
            for (Object partition : (Iterable<?>) topic.getValue()) {
                found.add(number + "." + partition);
            }
        }
        return found;
    }

    /**
     * The id of a topic, such that hash tables have their natural order: topics by number, or, where an assignor goes
     * through a table of partitions, those of one number by their topic.
     */
    private static Uuid topic(String text) {
        long number = Long.parseLong(text);
        if (!byPartition) {
            return new Uuid(0, number);
        }
        long hash = Integer.toUnsignedLong(INVERSE * ((int) number + FIRST));
        return new Uuid(number, hash ^ number);
    }
}
