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

    public static void main(String[] arguments) throws Exception {
        Cases.answer(ServerAssignors::assign);
    }

    private static Object assign(Map<String, String> fields) throws Exception {
        Map<Uuid, Integer> sizes = new HashMap<>();
        for (String topic : fields.get("topics").split(",")) {
            sizes.put(topic(topic.split(":")[0]), Integer.valueOf(topic.split(":")[1]));
        }
        Map<String, Object> members = new HashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        Set<Set<Uuid>> subscriptions = new HashSet<>();
        for (String text : fields.get("members").split(",")) {
            String[] parts = text.split("/", -1);
            Set<Uuid> subscribed = new HashSet<>();
            for (String number : parts[1].split("\\+")) {
                subscribed.add(topic(number));
            }
            subscriptions.add(subscribed);
            members.put(parts[0], member(parts, subscribed, owners));
        }
        Object name = Reflection.get(Class.forName(PACKAGE + "api.assignor.SubscriptionType"),
            subscriptions.size() == 1 ? "HOMOGENEOUS" : "HETEROGENEOUS");
        Object spec = Reflection.make(Class.forName(PACKAGE + "modern.GroupSpecImpl"), members, name, owners);
        String assignor = fields.get("assignor").equals("uniform") ? "UniformAssignor" : "RangeAssignor";
        Object made = Reflection.make(Class.forName(PACKAGE + "assignor." + assignor));
        return text(Reflection.call(Reflection.call(made, "assign", spec, topics(sizes)), "members"));
    }

    private static Object member(String[] parts, Set<Uuid> subscribed, Map<Uuid, Map<Integer, String>> owners)
            throws Exception {
        Map<Uuid, Set<Integer>> owned = new HashMap<>();
        for (String partition : parts[2].isEmpty() ? new String[0] : parts[2].split("\\+")) {
            Uuid topic = topic(partition.split("\\.")[0]);
            int number = Integer.parseInt(partition.split("\\.")[1]);
            owned.computeIfAbsent(topic, key -> new HashSet<>()).add(number);
            owners.computeIfAbsent(topic, key -> new HashMap<>()).put(number, parts[0]);
        }
        Optional<String> instance = parts[3].isEmpty() ? Optional.empty() : Optional.of(parts[3]);
        Object assignment = Reflection.make(Class.forName(PACKAGE + "modern.Assignment"), owned);
        return Reflection.make(Class.forName(PACKAGE + "modern.MemberSubscriptionAndAssignmentImpl"),
            Optional.empty(), instance, subscribed, assignment);
    }

    private static Object topics(Map<Uuid, Integer> sizes) throws Exception {
        Class<?> type = Class.forName(PACKAGE + "api.assignor.SubscribedTopicDescriber");
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) ->
            method.getName().equals("numPartitions") ? (Object) sizes.getOrDefault(arguments[0], -1) : Collections.emptySet());
    }

    private static String text(Object members) throws Exception {
        List<String> found = new ArrayList<>();
        for (Map.Entry<?, ?> member : new TreeMap<>((Map<?, ?>) members).entrySet()) {
            Set<String> partitions = new TreeSet<>(java.util.Comparator.comparing((String text) -> text.charAt(0))
                .thenComparing(text -> Integer.valueOf(text.substring(2))));
            Map<?, ?> assigned = (Map<?, ?>) Reflection.call(member.getValue(), "partitions");
            for (Map.Entry<?, ?> topic : assigned.entrySet()) {
                for (Object partition : (Iterable<?>) topic.getValue()) {
                    partitions.add(((Uuid) topic.getKey()).getLeastSignificantBits() + "." + partition);
                }
            }
            found.add(member.getKey() + "=" + String.join("+", partitions));
        }
        return String.join(" ", found);
    }

    private static Uuid topic(String number) {
        return new Uuid(0, Long.parseLong(number));
    }
}
